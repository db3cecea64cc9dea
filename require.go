package rowlock

import (
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

// Requirement is something a caller demands of a backend: it returns an error that says what is
// missing. Programs may write their own.
type Requirement func(driver.Capabilities) error

// LinearizableToken demands tokens that rise strictly in the order of the grants.
func LinearizableToken(c driver.Capabilities) error {
	if c.Token < driver.LinearizableToken {
		return fmt.Errorf("its tokens are %s, not linearizable", c.Token)
	}
	return nil
}

// FairQueue demands grants in the order of the requests, across processes.
func FairQueue(c driver.Capabilities) error {
	if !c.Fair {
		return fmt.Errorf("it does not grant in the order of the requests")
	}
	return nil
}

// WakeUps demands that waiters in other processes are woken, not only poll.
func WakeUps(c driver.Capabilities) error {
	if !c.Wakes {
		return fmt.Errorf("it does not wake waiters in other processes")
	}
	return nil
}

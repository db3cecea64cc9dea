package sessionlock

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

// usualSessions is how many connections a backend may use by default.
const usualSessions = 4

// Limit returns how many connections a backend may use. The parameter n is the value of the option Sessions,
// or 0 if it is not set. The parameter most is the number of connections that the pool allows, or 0 for no limit.
func Limit(n, most int) (int, error) {
	switch {
	case n < 0:
		return 0, fmt.Errorf("Sessions(%d): want at least 1", n)
	case most > 0 && n > most:
		return 0, fmt.Errorf("Sessions(%d): the pool allows %d connections", n, most)
	case n > 0:
		return n, nil
	case most > 0:
		return max(1, min(usualSessions, most/2)), nil
	default:
		return usualSessions, nil
	}
}

// Ready returns an error if a backend cannot send requests. If the backend was built with invalid options, that is the
// error in the parameter made. If ctx has ended, it is the error of ctx.
func Ready(ctx context.Context, made error) error {
	if made != nil {
		return driver.Permanent(made)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// Keepable returns an error if r has the option MinHold or HandoverDelay. Both would have to close the lock
// after its session has ended.
func Keepable(r driver.Request) error {
	option := ""
	switch {
	case r.MinHold > 0:
		option = "MinHold"
	case r.HandoverDelay > 0:
		option = "HandoverDelay"
	default:
		return nil
	}
	return driver.Permanent(fmt.Errorf("option %s: a session lock is free as soon as it is released or its connection ends: use sqllock for this option", option))
}

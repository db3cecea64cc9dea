package sessionlock

import (
	"context"
	"fmt"
	"time"

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

// Linger returns how long a session that is no longer needed keeps its connection. The time is long enough for a program
// that acquires and releases in a loop. The parameter most is the number of connections that the pool allows, or 0 for
// no limit. The only connection of a pool is returned at once.
func Linger(most int) time.Duration {
	if most == 1 {
		return 0
	}
	return 20 * time.Millisecond
}

// Ready returns an error if a backend cannot send requests. The parameter made is the error of invalid options, or
// nil. If made is not nil, Ready returns made. Otherwise, if ctx has ended, Ready returns the error of ctx.
func Ready(ctx context.Context, made error) error {
	if made != nil {
		return driver.Permanent(made)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// Keepable returns an error if r has the option MinHold or HandoverDelay. Both delay the next grant after a release,
// but a session lock is free as soon as it is released.
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

package sessionlock

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

// usualSessions is the default limit of connections of a backend.
const usualSessions = 4

// Limit returns how many connections a backend may use if its option says n, where 0 is the default. The pool allows
// most connections, where 0 means no limit.
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

// Ready returns why no call can be made: made, the error with which the backend was built, or the error of ctx.
func Ready(ctx context.Context, made error) error {
	if made != nil {
		return driver.Permanent(made)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// Keepable refuses a request with an option that would have to outlast the session.
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

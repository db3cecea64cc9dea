package sessionlock

import (
	"context"
	"fmt"

	"github.com/rowlock/rowlock/driver"
)

// usualSessions is how many connections a backend holds at most unless it is told otherwise.
const usualSessions = 4

// Limit is how many connections a backend may use that was told n, 0 for the default. The pool allows
// most, 0 is any number.
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

// Ready is why a call cannot be made at all, on a backend that was made with the error made.
func Ready(ctx context.Context, made error) error {
	if made != nil {
		return driver.Permanent(made)
	}
	if err := ctx.Err(); err != nil {
		return driver.NotApplied(err)
	}
	return nil
}

// Keepable names an option of r that would have to outlast the session.
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
	return driver.Permanent(fmt.Errorf("option %s: a session lock is free as soon as it is released or its connection ends: keep such locks with sqllock", option))
}

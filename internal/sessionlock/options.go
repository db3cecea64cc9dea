package sessionlock

import (
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// Options are the options that both backends have.
type Options struct {
	Sessions int    // the largest number of connections; 0: the default
	Table    string // the name of the lease table, after which the tables of tokens are named
	NoToken  bool
}

// usualSessions is how many connections a backend may use by default.
const usualSessions = 4

// linger is how long a session that is no longer needed keeps its connection. The time is long enough for a program that
// acquires and releases in a loop.
const linger = 20 * time.Millisecond

// Configure sets the limits and the table of s. At least as many connections may wait as Waiting says before the call. If the options are invalid, every call fails with an error that says so.
// The parameter pool is the number of connections that the pool allows, or 0 for no limit.
func (s *Store[K]) Configure(o Options, pool int) {
	var err error
	s.Most, err = limit(o.Sessions, pool)
	if err == nil {
		s.Table, err = sqltable.Parse(o.Table)
	}
	if err != nil {
		s.Err = fmt.Errorf("%s: %w", s.Name, err)
		return
	}
	s.Waiting, s.Linger = max(s.Waiting, s.Most/2), linger
	if pool == 1 { // the only connection of a pool neither waits nor lingers
		s.Waiting, s.Linger = 0, 0
	}
}

// limit returns how many connections a backend may use. The parameter n is the value of the option Sessions.
func limit(n, pool int) (int, error) {
	switch {
	case n < 0:
		return 0, fmt.Errorf("Sessions(%d): want at least 1", n)
	case pool > 0 && n > pool:
		return 0, fmt.Errorf("Sessions(%d): the pool allows %d connections", n, pool)
	case n > 0:
		return n, nil
	case pool > 0:
		return max(1, min(usualSessions, pool/2)), nil
	default:
		return usualSessions, nil
	}
}

// keepable returns an error if r has the option MinHold or HandoverDelay. Both delay the next grant after a release,
// but a session lock is free as soon as it is released.
func keepable(r driver.Request) error {
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

//go:build unix && !aix && !solaris

package main

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Store keeps locks in a folder that all processes of one machine share. It is safe for concurrent use.
type Store struct{ folder string }

var (
	_ driver.Backend  = (*Store)(nil)
	_ driver.Notifier = (*Store)(nil)
)

// New returns the store in folder, which must exist. It does no I/O.
func New(folder string) *Store { return &Store{folder} }

// Acquire implements [driver.Backend].
func (s *Store) Acquire(ctx context.Context, r driver.Request) (g driver.Grant, err error) {
	err = s.change(ctx, r.Key, func(l *row, now time.Time) error {
		if !l.heldBy(r.Nonce, 0) {
			if now.Before(l.Free) {
				return l.refusal(now)
			}
			l.grant(r, now)
		}
		g = driver.Grant{
			Key: r.Key, Nonce: r.Nonce, Token: l.Token,
			TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay,
		}
		l.extend(g, now)
		return nil
	})
	if err != nil {
		return driver.Grant{}, err
	}
	return g, nil
}

// Renew implements [driver.Backend].
func (s *Store) Renew(ctx context.Context, grants []driver.Grant) ([]driver.Outcome, error) {
	outcomes := make([]driver.Outcome, len(grants)) // each is driver.Unknown until the store has answered
	for i, g := range grants {
		err := s.change(ctx, g.Key, func(l *row, now time.Time) error {
			if !l.heldBy(g.Nonce, g.Token) || !now.Before(l.Expires) {
				return driver.ErrNotHeld
			}
			l.extend(g, now)
			return nil
		})
		switch {
		case err == nil:
			outcomes[i] = driver.Renewed
		case errors.Is(err, driver.ErrNotHeld):
			outcomes[i] = driver.Lost
		case ctx.Err() != nil:
			return nil, err
		}
	}
	return outcomes, nil
}

// Release implements [driver.Backend].
func (s *Store) Release(ctx context.Context, g driver.Grant) error {
	err := s.change(ctx, g.Key, func(l *row, _ time.Time) error {
		switch {
		case l.Released && l.Nonce == g.Nonce && l.Token == g.Token:
			return nil // an earlier request has already released the grant
		case !l.heldBy(g.Nonce, g.Token):
			return driver.ErrNotHeld
		}
		l.Released = true
		l.Free = l.Granted.Add(g.MinHold)
		return nil
	})
	if err == nil {
		s.wake(g.Key)
	}
	return err
}

// Capabilities implements [driver.Backend]. A restart of the machine may empty the folder. After that,
// tokens rise only if the clock was not set back. So the tokens are declared as best effort, and not as linearizable.
func (s *Store) Capabilities() driver.Capabilities {
	c := driver.Capabilities{Backend: "folder", Token: driver.BestEffortToken, Wakes: true}
	if s.folder == "" {
		c.Invalid = errors.New("folder: the path is empty")
	}
	return c
}

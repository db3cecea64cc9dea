package sqlbase

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// HandOver calls the function ask, which replaces a grant by a grant to r, until the answer is final. If something
// prevents every grant, such as a change of server, HandOver makes no repair. The holder then releases the lock, and
// the next acquire makes the repair.
func HandOver(ctx context.Context, r driver.Request, ask func() (Answer, error)) (driver.Grant, error) {
	a, err := Settle(ctx, ask, nil)
	switch {
	case err != nil:
		return driver.Grant{}, err
	case a.Verdict == NotHeld:
		return driver.Grant{}, driver.ErrNotHeld
	case a.Verdict != Granted:
		return driver.Grant{}, a.Held()
	}
	return GrantOf(r, a), nil
}

// HandOverArgs returns the parameters of hand_over.sql for Postgres and SQLite.
func HandOverArgs(from driver.Grant, r driver.Request) []any {
	return []any{
		from.Key.Namespace, from.Key.Name, from.Nonce.String(), int64(from.Token), from.MinHold.Microseconds(),
		r.Nonce.String(), r.Holder, r.Note, r.TTL.Microseconds(), r.MinHold.Microseconds(), r.HandoverDelay.Microseconds(),
	}
}

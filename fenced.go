package rowlock

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock/driver"
)

// Sealer makes a resource refuse every holder that is older than a lease. The guards of package
// fence are Sealers.
type Sealer interface {
	// Seal raises the marks of the resources to the lease's token, before the holder's first read.
	// Without resources it is the lock's own name. When it returns nil, all that older holders did
	// is visible, and nothing more of theirs can follow. ctx bounds it.
	Seal(ctx context.Context, lease *Lease, resources ...string) error
}

// Fenced makes Acquire, TryAcquire, Do and TryDo seal with guard before they return or begin: from
// then on the resource refuses the writes of every older holder that checks. When sealing fails,
// the lease is released and the call fails with the reason.
//
// Sealing waits for the transactions that an older holder has checked and not yet ended.
//
// Where guard is one of package fence, and it and the backend were made with one database handle and
// one table, on Postgres or SQLite, the grant seals in its own step, with no further round trip. The
// wait is then part of waiting for the name. TryAcquire bears it for a few seconds at most, which
// end in an [ErrHeld] with the reason driver.Draining; Acquire asks again. (On SQLite a request waits a
// quarter of a second for any writer of the file, and the reason is driver.Contended.)
//
// Elsewhere a transaction of the guard's own seals after the grant, and waits for as long as ctx and
// the trust in the lease permit.
func Fenced(guard Sealer) Option {
	return func(s *settings) { s.guard, s.fenced = guard, true }
}

var errNoGuard = errors.New("rowlock: Fenced(nil): want a guard")

// grantSealer is a guard whose marks a backend can raise with the grant, if both are at one place.
type grantSealer interface {
	// SealedByGrant is where the marks are, and the domain of the tokens that a store of the given
	// kind grants for a lock of that name. It is the zero Place unless asked is the guard itself.
	SealedByGrant(asked Sealer, store, name string) (place driver.Place, domain string)
}

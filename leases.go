package rowlock

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/oneline"
)

// Leases are the leases that one call of [Locker.AcquireAll] acquired, one for each name. Each is an ordinary lease
// with its own token. Together the leases have one context, which ends when the first lease ends.
// Leases is safe for concurrent use.
type Leases struct {
	all []*Lease // in the order of the names
	ctx trusted
}

// AcquireAll acquires all of names, or none. It takes from 1 to 64 different names, in any order. Two calls of
// AcquireAll never deadlock with each other.
//
// AcquireAll requests all names at once, in one round trip if the backend is a [driver.Batcher]. If a name is held, AcquireAll releases the granted names and waits for the
// held name, while it holds none of the names. When that name is granted, AcquireAll requests the other names again.
// Callers that use single names could starve AcquireAll. Therefore, after eight refusals, AcquireAll waits for one name
// after the other, in the order of their bytes. It holds the earlier names meanwhile. If that takes longer than one
// TTL, AcquireAll releases the names and begins again.
//
// The options, ctx and the errors are those of [Locker.Acquire]. An [ErrHeld] has the [*HeldError] of one of the names.
// The option [Wait] limits the whole call. With [Fenced], AcquireAll seals each lease after all names have been granted.
// The event AcquireFailed is reported once for the call, and the other events once for each name and each grant.
func (l *Locker) AcquireAll(ctx context.Context, names []string, opts ...Option) (*Leases, error) {
	g := &gathering{locker: l, ctx: ctx, names: names, opts: opts, started: time.Now()}
	all, err := g.run()
	if err != nil {
		return nil, err
	}
	return newLeases(ctx, all), nil
}

// DoAll acquires all of names as [Locker.AcquireAll] does, runs fn as [Locker.Do] does, and releases the leases.
// The ctx of fn ends when ctx does, or when the first of the leases is no longer trusted. [LeasesFromContext] returns
// the leases of that ctx.
func (l *Locker) DoAll(ctx context.Context, names []string, fn func(ctx context.Context, leases *Leases) error, opts ...Option) error {
	leases, err := l.AcquireAll(ctx, names, opts...)
	if err != nil {
		return err
	}
	return leases.run(ctx, fn)
}

func newLeases(ctx context.Context, all []*Lease) *Leases {
	inner, end := context.WithCancelCause(context.WithoutCancel(ctx))
	for _, le := range all {
		context.AfterFunc(le.ctx, func() { end(context.Cause(le.ctx)) })
	}
	return &Leases{all: all, ctx: trusted{inner, all, end}}
}

// All returns the leases in the order of the names.
func (ls *Leases) All() []*Lease { return slices.Clone(ls.all) }

// Lease returns the lease on name, or nil if name was not acquired.
func (ls *Leases) Lease(name string) *Lease {
	for _, le := range ls.all {
		if le.Name() == name {
			return le
		}
	}
	return nil
}

// String returns the names, holders and tokens, for logs.
func (ls *Leases) String() string {
	texts := make([]string, len(ls.all))
	for i, le := range ls.all {
		texts[i] = le.String()
	}
	return strings.Join(texts, "; ")
}

// Context returns a context that ends when the first of the leases is no longer trusted, as [Lease.Context] does for
// one lease. If you pass this context to a check of package fence without naming resources, the check compares each
// name's mark with the token of that name's lease.
func (ls *Leases) Context() context.Context { return ls.ctx }

// Err returns nil while all leases are held and trusted. Afterwards it returns the reason why one of them ended, as
// [Lease.Err] does.
func (ls *Leases) Err() error { return ls.ctx.ended() }

// ExpiresAt returns the time at which the first of the leases stops being trusted unless it is renewed.
func (ls *Leases) ExpiresAt() time.Time {
	first := ls.all[0].ExpiresAt()
	for _, le := range ls.all[1:] {
		if at := le.ExpiresAt(); at.Before(first) {
			first = at
		}
	}
	return first
}

// Release releases all leases at the same time, each as [Lease.Release] does, in one round trip if the backend is a
// [driver.Batcher]. It tries to release every lease, and returns the errors of all releases.
func (ls *Leases) Release(ctx context.Context) error {
	if ls == nil {
		return errNoLease
	}
	return oneline.Join(releaseAll(ctx, ls.all)...)
}

// run calls fn for DoAll and releases the leases.
func (ls *Leases) run(ctx context.Context, fn func(context.Context, *Leases) error) error {
	return ls.ctx.run(ctx, func(inner context.Context) error { return fn(inner, ls) }, func(err error) error {
		return addLoss(err, ls.Release(ctx))
	})
}

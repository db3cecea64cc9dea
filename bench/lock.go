package main

import (
	"context"
	"slices"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
)

// lock is one implementation of a lock in a store.
type lock struct {
	name  string
	kind  string  // report.Floor, report.Rowlock or report.Peer
	floor string  // name of the lock in the same store that does the minimum work for this lock
	alone bool    // its acquire does not wait, so no hand-over is measured
	half  bool    // acquire only updates a row and flushes the update to disk, and so does release
	only  bool    // only its hand-over is measured
	most  int     // the largest number of members, because each member has a connection; 0 means any number
	keeps bool    // true if another library renews its leases by itself, so that a short TTL can be used
	count counter // if nil, the counter of the store is used

	backend func(ctx context.Context, at []string) (driver.Backend, func(), error) // set for rowlock
	// set for locks that are not rowlock's
	open func(ctx context.Context, at []string, t task) (*party, error)
}

// task describes what the members of a party acquire.
type task struct {
	Name    string
	Members int
	TTL     time.Duration // 0 means the default of the library
	Pool    int           // if not 0, each member has its own client, with at most this number of connections in each pool
	Slots   int           // if not 0, each member acquires any of this number of slots; only for rowlock
}

// party is the part of a crowd that runs in one process. It has clients of its own, and members that all want the same
// lock.
type party struct {
	members []acquirer
	close   func()
}

// acquirer waits for the lock.
type acquirer func(context.Context) (held, error)

// held is a lock that a member holds.
type held struct {
	release func(context.Context) error
	lost    <-chan struct{} // closed when the holder detects that it has lost the lock; nil if the library cannot detect that
	slot    int             // the number of the slot; 0 for a lock without slots
}

func (l lock) join(ctx context.Context, at []string, t task) (*party, error) {
	if t.Pool > 0 {
		return l.apart(ctx, at, t)
	}
	if l.backend == nil {
		return l.open(ctx, at, t)
	}
	var opts []rowlock.Option
	if t.TTL > 0 {
		opts = append(opts, rowlock.TTL(t.TTL))
	}
	locker, leave, err := l.locker(ctx, at, opts...)
	if err != nil {
		return nil, err
	}
	names := []string{t.Name}
	if t.Slots > 0 {
		names = rowlock.Slots(t.Name, t.Slots)
	}
	p := &party{close: leave}
	for range t.Members {
		p.members = append(p.members, func(ctx context.Context) (held, error) {
			lease, err := locker.AcquireAny(ctx, names)
			if err != nil {
				return held{}, err
			}
			return held{lease.Release, lease.Context().Done(), slices.Index(names, lease.Name())}, nil
		})
	}
	return p, nil
}

// locker returns a Locker. It works only for locks of rowlock.
func (l lock) locker(ctx context.Context, at []string, opts ...rowlock.Option) (*rowlock.Locker, func(), error) {
	backend, leave, err := l.backend(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	locker, err := rowlock.New(backend, opts...)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return locker, func() { _ = locker.Close(); leave() }, nil
}

// gather returns a party of n members that share a client, which the function leave closes.
func gather(n int, leave func(), member func() (acquirer, error)) (*party, error) {
	p := &party{close: leave}
	for range n {
		m, err := member()
		if err != nil {
			leave()
			return nil, err
		}
		p.members = append(p.members, m)
	}
	return p, nil
}

// single returns a party of one member. Its acquire calls the function take, and its release calls the function give.
func single(leave func(), take, give func(context.Context) error) *party {
	return &party{close: leave, members: []acquirer{func(ctx context.Context) (held, error) { return held{release: give}, take(ctx) }}}
}

// ours returns a lock of rowlock.
func ours(name, floor string, backend func(context.Context, []string) (driver.Backend, func(), error)) lock {
	return lock{name: name, kind: report.Rowlock, floor: floor, backend: backend}
}

package main

import (
	"context"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
)

// lock is one way to have a lock in a store.
type lock struct {
	name  string
	kind  string        // report.Floor, report.Rowlock or report.Peer
	floor string        // the lock of the same store whose cycle is the least that this one can do
	alone bool          // it knows of no waiting, so there is nothing to hand over
	half  bool          // acquire and release are a bare durable update each
	only  bool          // only its hand-over is measured
	most  int           // members at most, as each has a connection; 0: any number
	keeps bool          // a peer that renews what it holds, so that its TTL can be short
	ttl   time.Duration // 0: the default; of ours
	count counter       // nil: as its store does

	backend func(ctx context.Context, at []string) (driver.Backend, func(), error) // ours
	open    func(ctx context.Context, at []string, t task) (*party, error)         // the others
}

// task is what a party is opened for.
type task struct {
	Name    string
	Members int
	TTL     time.Duration // 0: the default of the library
}

// party is what one process has: clients of its own, and members that want the same lock.
type party struct {
	members []acquirer
	close   func()
}

// acquirer waits for the lock.
type acquirer func(context.Context) (held, error)

// held is the lock in one's hand.
type held struct {
	release func(context.Context) error
	lost    <-chan struct{} // closed when the holder learns that it is lost; nil if it never does
}

func (l lock) join(ctx context.Context, at []string, t task) (*party, error) {
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
	p := &party{close: leave}
	for range t.Members {
		p.members = append(p.members, func(ctx context.Context) (held, error) {
			lease, err := locker.Acquire(ctx, t.Name)
			if err != nil {
				return held{}, err
			}
			return held{lease.Release, lease.Context().Done()}, nil
		})
	}
	return p, nil
}

// locker is of ours alone.
func (l lock) locker(ctx context.Context, at []string, opts ...rowlock.Option) (*rowlock.Locker, func(), error) {
	backend, leave, err := l.backend(ctx, at)
	if err != nil {
		return nil, nil, err
	}
	if l.ttl > 0 {
		opts = append([]rowlock.Option{rowlock.TTL(l.ttl)}, opts...)
	}
	locker, err := rowlock.New(backend, opts...)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return locker, func() { _ = locker.Close(); leave() }, nil
}

// gather makes a party of members that share what leave closes.
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

// single is a party of one, whose acquire and release are bare operations.
func single(leave func(), take, give func(context.Context) error) *party {
	return &party{close: leave, members: []acquirer{func(ctx context.Context) (held, error) { return held{release: give}, take(ctx) }}}
}

// ours is a lock of ours.
func ours(name, floor string, backend func(context.Context, []string) (driver.Backend, func(), error)) lock {
	return lock{name: name, kind: report.Rowlock, floor: floor, backend: backend}
}

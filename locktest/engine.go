package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// locker returns a Locker on b, which is closed with the case.
func (t *trial) locker(b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	l, err := rowlock.New(b, append([]rowlock.Option{rowlock.TTL(steady)}, opts...)...)
	if err != nil {
		t.fatalf("rowlock.New: %v", err)
	}
	t.cleanup(func() { _ = l.Close() })
	return l
}

// acquire waits for the name, which must come free.
func (t *trial) acquire(l *rowlock.Locker, name string, opts ...rowlock.Option) *rowlock.Lease {
	ctx, cancel := t.withTimeout(t.patience)
	defer cancel()
	lease, err := l.Acquire(ctx, name, opts...)
	if err != nil {
		t.fatalf("acquire %q: %v", name, err)
	}
	return lease
}

// renewLease renews a lease that is held. That the store did not answer in time is no loss: while the lease is trusted, it is asked again.
func (t *trial) renewLease(le *rowlock.Lease) {
	err := le.Renew(t.ctx)
	for errors.Is(err, rowlock.ErrUnknown) && le.Err() == nil && t.ctx.Err() == nil {
		err = le.Renew(t.ctx)
	}
	if err != nil {
		t.fatalf("renew: %v", err)
	}
}

// tryHeld asks for a name that another holds. A store that has not answered is asked again, within bounds: a pooler that
// makes one connection after the other may be busy for a while with those that were cut off.
func (t *trial) tryHeld(l *rowlock.Locker, name string) *rowlock.HeldError {
	var held *rowlock.HeldError
	t.poll("an answer other than contended or unavailable", func() bool {
		lease, err := l.TryAcquire(t.ctx, name)
		switch {
		case lease != nil:
			t.fatalf("%q, which somebody else holds, was granted with token %d", name, lease.Token())
		case errors.Is(err, rowlock.ErrUnavailable):
			return false
		case !errors.As(err, &held) || !errors.Is(err, rowlock.ErrHeld):
			t.fatalf("%q is held by somebody else; want rowlock.ErrHeld, got: %v", name, err)
		}
		return held.Reason != driver.Contended
	})
	return held
}

// waiter is an Acquire in a goroutine of its own.
type waiter struct {
	waiting chan struct{} // closed once it was refused, or stands behind others of its process
	done    chan struct{} // closed once it has returned
	lease   *rowlock.Lease
	err     error
	took    time.Duration
}

// wait starts an Acquire and returns once it waits.
func (t *trial) wait(ctx context.Context, l *rowlock.Locker, name string, opts ...rowlock.Option) *waiter {
	w := &waiter{waiting: make(chan struct{}), done: make(chan struct{})}
	ctx, cancel := context.WithCancel(ctx)
	trace := rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) { close(w.waiting) }})
	go func() {
		defer close(w.done)
		w.took = timed(func() { w.lease, w.err = l.Acquire(ctx, name, append(opts, trace)...) })
	}()
	t.cleanup(func() {
		cancel()
		<-w.done
	})
	select {
	case <-w.done:
		t.fatalf("%q is held by somebody else; acquire did not wait, but returned %v, error %v", name, w.lease, w.err)
	case <-time.After(t.patience):
		t.fatalf("an acquire of %q, which somebody else holds, does not wait for it", name)
	case <-w.waiting:
	}
	return w
}

// has waits for the waiter to be granted the name.
func (t *trial) has(w *waiter) *rowlock.Lease {
	t.await(w.done, "a waiter gets the name")
	if w.err != nil {
		t.fatalf("a waiter gets the name: %v", w.err)
	}
	return w.lease
}

// isFree checks that the name can be had by b, soon.
func (t *trial) isFree(b driver.Backend, name string) {
	t.release(b, t.grantAtLast(b, t.request(driver.Key{Name: name})))
}

// isLostLease checks that a lease is over for the reason that it was lost, and says so everywhere.
func (t *trial) isLostLease(lease *rowlock.Lease) {
	if err := lease.Err(); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("a lost lease: want rowlock.ErrLost, Err says %v", err)
	}
	t.await(lease.Context().Done(), "the context of a lost lease ends")
	if err := context.Cause(lease.Context()); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("a lost lease: want rowlock.ErrLost, the cause of its context is %v", err)
	}
	if err := lease.Renew(t.ctx); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("a lost lease: want rowlock.ErrLost, Renew says %v", err)
	}
	for range 2 {
		if err := lease.Release(t.ctx); !errors.Is(err, rowlock.ErrLost) {
			t.fatalf("a lost lease: want rowlock.ErrLost, Release says %v", err)
		}
	}
}

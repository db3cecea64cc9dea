package locktest

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// locker returns a Locker on b, which is closed at the end of the case.
func (t *trial) locker(b driver.Backend, opts ...rowlock.Option) *rowlock.Locker {
	l, err := rowlock.New(b, append([]rowlock.Option{rowlock.TTL(steady)}, opts...)...)
	if err != nil {
		t.fatalf("rowlock.New: %v", err)
	}
	t.cleanup(func() { _ = l.Close() })
	return l
}

// acquire waits for the name and returns the lease. The case fails if the name does not become free in time.
func (t *trial) acquire(l *rowlock.Locker, name string, opts ...rowlock.Option) *rowlock.Lease {
	ctx, cancel := t.withTimeout(t.patience)
	defer cancel()
	lease, err := l.Acquire(ctx, name, opts...)
	if err != nil {
		t.fatalf("acquire %q: %v", name, err)
	}
	return lease
}

// renewLease renews a held lease. While the lease is trusted, renewLease retries a renewal that got no reply.
func (t *trial) renewLease(le *rowlock.Lease) {
	err := le.Renew(t.ctx)
	for errors.Is(err, rowlock.ErrUnknown) && le.Err() == nil && t.ctx.Err() == nil {
		err = le.Renew(t.ctx)
	}
	if err != nil {
		t.fatalf("renew: %v", err)
	}
}

// handOn releases a lease for whose name another client waits. If the store's reply is late, the outcome may be unknown:
// the retry finds the grant of that client. This is no failure, because the case checks that the client gets the name.
func (t *trial) handOn(lease *rowlock.Lease) {
	if err := lease.Release(t.ctx); err != nil && !errors.Is(err, rowlock.ErrUnknown) {
		t.fatalf("release: %v", err)
	}
}

// tryHeld requests a name that another client holds. If the store does not reply, tryHeld retries a limited number of
// times. For example, after a cut a pooler may still be replacing its connections, one after the other.
func (t *trial) tryHeld(l *rowlock.Locker, name string) *rowlock.HeldError {
	var held *rowlock.HeldError
	t.poll("a reply other than contended or unavailable", func() bool {
		lease, err := l.TryAcquire(t.ctx, name)
		switch {
		case lease != nil:
			t.fatalf("%q, which another client holds, was granted with token %d", name, lease.Token())
		case errors.Is(err, rowlock.ErrUnavailable):
			return false
		case !errors.As(err, &held) || !errors.Is(err, rowlock.ErrHeld):
			t.fatalf("%q is held by another client; want rowlock.ErrHeld, got: %v", name, err)
		}
		return held.Reason != driver.Contended
	})
	return held
}

// waiter is an Acquire in its own goroutine.
type waiter struct {
	waiting chan struct{} // closed after the waiter was refused, or when it waits behind other waiters of its process
	done    chan struct{} // closed after Acquire has returned
	lease   *rowlock.Lease
	err     error
	took    time.Duration
}

// wait starts an Acquire, and returns when that Acquire waits.
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
		t.fatalf("%q is held by another client; but acquire did not wait and returned %v, error %v", name, w.lease, w.err)
	case <-time.After(t.patience):
		t.fatalf("an acquire of %q, which another client holds, does not wait", name)
	case <-w.waiting:
	}
	return w
}

// has waits until the waiter has acquired the name, and returns the lease.
func (t *trial) has(w *waiter) *rowlock.Lease {
	t.await(w.done, "a waiter acquires the name")
	if w.err != nil {
		t.fatalf("a waiter acquires the name: %v", w.err)
	}
	return w.lease
}

// isFree checks that b can acquire the name within a short time.
func (t *trial) isFree(b driver.Backend, name string) {
	t.release(b, t.grantAtLast(b, t.request(driver.Key{Name: name})))
}

// isLostLease checks that every method of a lease reports its loss.
func (t *trial) isLostLease(lease *rowlock.Lease) {
	if err := lease.Err(); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("a lost lease: want rowlock.ErrLost, Err returned %v", err)
	}
	t.await(lease.Context().Done(), "the context of a lost lease ends")
	if err := context.Cause(lease.Context()); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("a lost lease: want rowlock.ErrLost, the cause of its context is %v", err)
	}
	if err := lease.Renew(t.ctx); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("a lost lease: want rowlock.ErrLost, Renew returned %v", err)
	}
	for range 2 {
		if err := lease.Release(t.ctx); !errors.Is(err, rowlock.ErrLost) {
			t.fatalf("a lost lease: want rowlock.ErrLost, Release returned %v", err)
		}
	}
}

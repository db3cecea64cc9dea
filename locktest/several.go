package locktest

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var severalCases = []testCase{
	{
		name:    "all-or-none",
		promise: "AcquireAll grants all names or none. It holds none of them while it waits, and a failed call leaves none held.",
		run:     allOrNone,
	},
	{
		name:    "batch",
		promise: "A batch has the outcomes that its requests have on their own, and may be sent twice.",
		run:     batches,
	},
	{
		name:    "at-most-n",
		promise: "AcquireAny grants at most as many leases as there are names, and a released name to a caller that waits.",
		run:     atMostN,
	},
	{
		name:    "slot-reply-lost",
		promise: "If the reply to a request of AcquireAny is lost, the caller ends with one name, and the others become free.",
		needs:   []power{dropping},
		run:     slotReplyLost,
	},
}

func allOrNone(t *trial) {
	a, b := t.open(), t.open()
	t.warm(b)
	one, other := t.locker(a), t.locker(b, rowlock.TTL(longest))
	names := []string{t.key("c").Name, t.key("a").Name, t.key("b").Name}
	held := t.acquire(one, names[2])
	_, err := other.AcquireAll(t.ctx, names, rowlock.Wait(0))
	if !errors.Is(err, rowlock.ErrHeld) {
		t.fatalf("one of three names is held: want rowlock.ErrHeld, got %v", err)
	}
	t.isFree(a, names[0])
	t.isFree(a, names[1])

	waits := make(chan struct{})
	trace := rowlock.Tracing(&rowlock.Trace{Waiting: func(e rowlock.WaitingEvent) {
		if e.Name == names[2] {
			close(waits)
		}
	}})
	var leases *rowlock.Leases
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.ctx)
	go func() {
		defer close(done)
		leases, err = other.AcquireAll(ctx, names, trace)
	}()
	t.cleanup(func() {
		cancel()
		<-done
	})
	t.await(waits, "AcquireAll waits for the name that is held")
	t.isFree(a, names[0])
	t.isFree(a, names[1])
	t.handOn(held)
	t.await(done, "AcquireAll returns")
	if err != nil {
		t.fatalf("AcquireAll: %v", err)
	}
	for _, name := range names {
		t.refuse(a, t.request(driver.Key{Name: name}))
	}
	if err := leases.Err(); err != nil {
		t.fatalf("the leases of AcquireAll: %v", err)
	}
	if err := leases.Release(t.ctx); err != nil {
		t.fatalf("release all: %v", err)
	}
	for _, name := range names {
		t.isFree(a, name)
	}
}

func atMostN(t *trial) {
	a, b := t.open(), t.open()
	one, other := t.locker(a), t.locker(b)
	slots := rowlock.Slots(t.key("x").Name, 2)
	any := func(l *rowlock.Locker, opts ...rowlock.Option) (*rowlock.Lease, error) {
		ctx, cancel := t.withTimeout(t.patience)
		defer cancel()
		return l.AcquireAny(ctx, slots, opts...)
	}
	first, err := any(other)
	if err != nil {
		t.fatalf("the first slot: %v", err)
	}
	second, err := any(one)
	if err != nil {
		t.fatalf("the second slot: %v", err)
	}
	if first.Name() == second.Name() {
		t.fatalf("both callers hold %q", first.Name())
	}
	if third, err := any(one, rowlock.Wait(0)); !errors.Is(err, rowlock.ErrHeld) {
		t.fatalf("the third caller for two slots: want rowlock.ErrHeld, got %v, %v", third, err)
	}
	var third *rowlock.Lease
	done := make(chan struct{})
	ctx, cancel := context.WithCancel(t.ctx)
	waits := make(chan string, 2)
	trace := rowlock.Tracing(&rowlock.Trace{Waiting: func(e rowlock.WaitingEvent) { waits <- e.Name }})
	go func() {
		defer close(done)
		third, err = other.AcquireAny(ctx, slots, trace)
	}()
	t.cleanup(func() {
		cancel()
		<-done
	})
	for range slots {
		select {
		case <-waits:
		case <-done:
			t.fatalf("the third caller for two slots does not wait: %v, %v", third, err)
		case <-t.ctx.Done():
			t.fatalf("the third caller for two slots does not wait")
		}
	}
	t.handOn(second)
	t.await(done, "the third caller acquires the released slot")
	if err != nil || third.Name() != second.Name() {
		t.fatalf("the third caller acquires %q: got %v, %v", second.Name(), third, err)
	}
}

func slotReplyLost(t *trial) {
	a, b := t.open(), t.open()
	t.warm(a)
	l := t.locker(a)
	slots := rowlock.Slots(t.key("x").Name, 2)
	t.dropReply(a)
	lease, err := l.AcquireAny(t.ctx, slots)
	if err != nil {
		t.fatalf("AcquireAny: %v", err)
	}
	for _, name := range slots {
		if name != lease.Name() {
			t.isFree(b, name)
		}
	}
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	t.isFree(b, lease.Name())
}

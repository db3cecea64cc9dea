package locktest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var waitingCases = []testCase{
	{
		name:    "waiter-gets-it",
		promise: "A waiter acquires the name after its holder has released it.",
		run:     waiterGetsIt,
	},
	{
		name:    "waiters-queue",
		promise: "Waiters of one locker are served first come, first served.",
		run:     waitersQueue,
	},
	{
		name:    "wait-is-bounded",
		promise: "If a wait ends at its time limit, the error says that the name is held, and names the holder. A call that does not wait returns the same error at once.",
		run:     waitIsBounded,
	},
	{
		name:    "context-ends-a-wait",
		promise: "A wait ends when its context ends. The error matches the context's error, and no grant or request of the waiter remains.",
		run:     contextEndsAWait,
	},
}

func waiterGetsIt(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	lease := t.acquire(t.locker(a), name)
	w := t.wait(t.ctx, t.locker(b), name)
	t.handOn(lease)
	next := t.has(w)
	t.tryHeld(t.locker(a), name)
	if err := next.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
}

func waitersQueue(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	lease := t.acquire(t.locker(a), name)
	l := t.locker(b)
	var mu sync.Mutex
	var served []int
	var released sync.WaitGroup
	waiters := make([]*waiter, 4)
	for i := range waiters {
		waiters[i] = t.wait(t.ctx, l, name, rowlock.Note(fmt.Sprint(i)), rowlock.Holder(fmt.Sprint(i)))
		released.Go(func() {
			<-waiters[i].done
			if waiters[i].lease == nil {
				return
			}
			mu.Lock()
			served = append(served, i)
			mu.Unlock()
			_ = waiters[i].lease.Release(t.ctx)
		})
	}
	t.handOn(lease)
	t.poll("every waiter acquires the name", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(served) == len(waiters)
	})
	released.Wait()
	for i, who := range served {
		if who != i {
			t.fatalf("waiters 0 to %d were served in the order %v", len(waiters)-1, served)
		}
	}
}

func waitIsBounded(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	lease := t.acquire(t.locker(a), name, rowlock.Holder("the holder"), rowlock.Note("the note"))
	l := t.locker(b)
	saysWho := func(held *rowlock.HeldError) {
		told := held.Holder == "the holder" && held.Note == "the note" || anonymous(b)
		if !told || held.Name != name || held.Token != lease.Token() && held.Token != 0 {
			t.fatalf("held by %q with token %d, but the error says %+v", lease.Holder(), lease.Token(), *held)
		}
	}
	saysWho(t.tryHeld(l, name))
	const bound = 200 * time.Millisecond
	var got *rowlock.Lease
	var err error
	took := timed(func() { got, err = l.Acquire(t.ctx, name, rowlock.Wait(bound)) })
	var held *rowlock.HeldError
	if got != nil || !errors.As(err, &held) {
		t.fatalf("a wait with a limit of %s: want rowlock.ErrHeld, got lease %v, error %v", bound, got, err)
	}
	saysWho(held)
	r := t.request(driver.Key{Name: name})
	r.Waiting = true
	if _, told := t.ask(b, r); told == nil || told.Holder != "the holder" && !anonymous(b) {
		t.fatalf("held by %q, but a second refusal says %+v", lease.Holder(), told)
	}
	if took < bound || took > bound+slack {
		t.fatalf("a wait with a limit of %s ended after %s", bound, took)
	}
}

func contextEndsAWait(t *trial) {
	a, b, c := t.open(), t.open(), t.open()
	name := t.key("x").Name
	lease := t.acquire(t.locker(a), name)
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	w := t.wait(ctx, t.locker(b), name)
	cancel()
	ended := timed(func() { t.await(w.done, "the wait ends with its context") })
	switch {
	case w.lease != nil || !errors.Is(w.err, context.Canceled):
		t.fatalf("want context.Canceled, got lease %v, error %v", w.lease, w.err)
	// The context may have ended during a request, so the reply to that request is missing.
	case !errors.Is(w.err, rowlock.ErrHeld) && !errors.Is(w.err, rowlock.ErrUnavailable):
		t.fatalf("want rowlock.ErrHeld with the context's error, got %v", w.err)
	case ended > slack:
		t.fatalf("the wait ends %s after its context", ended)
	}
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	t.isFree(c, name)
}

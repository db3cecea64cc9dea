package locktest

import (
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var doubtCases = []testCase{
	{
		name:    "acquire-reply-lost",
		promise: "An acquire whose reply was lost is sent again, and gets the lease that it was granted the first time.",
		needs:   []power{dropping},
		run:     acquireReplyLost,
	},
	{
		name:    "acquire-given-up",
		promise: "An acquire that failed because its reply was lost leaves nothing behind.",
		needs:   []power{dropping},
		run:     acquireGivenUp,
	},
	{
		name:    "release-reply-lost",
		promise: "A release whose reply was lost is sent again and does not take its own effect for a loss.",
		needs:   []power{dropping},
		run:     releaseReplyLost,
	},
	{
		name:    "renewal-reply-lost",
		promise: "A renewal whose reply was lost is unknown, not lost: it is tried again, and the lease is kept.",
		needs:   []power{dropping},
		run:     renewalReplyLost,
	},
}

// warm has b make every kind of request once, so that its connection stands.
func (t *trial) warm(b driver.Backend) {
	for i := range 2 {
		g := t.grant(b, t.request(t.key(fmt.Sprint("warm", i))))
		t.isHeld(b, g)
		t.release(b, g)
	}
}

func (t *trial) dropReply(b driver.Backend) {
	if err := t.harness.(ReplyDropper).DropReply(b); err != nil {
		t.fatalf("drop the next reply: %v", err)
	}
}

func acquireReplyLost(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	t.warm(a)
	l := t.locker(a, rowlock.TTL(5*lively))
	t.dropReply(a)
	lease := t.acquire(l, name)
	if held := t.tryHeld(t.locker(b), name); held.Token != lease.Token() && held.Token != 0 {
		t.fatalf("granted token %d; others are told %d", lease.Token(), held.Token)
	}
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	t.isFree(b, name)
}

func acquireGivenUp(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	t.warm(a)
	l := t.locker(a, rowlock.TTL(10*t.patience)) // if it is not taken back, it stays
	t.dropReply(a)
	ctx, cancel := t.withTimeout(lively / 4)
	defer cancel()
	lease, err := l.Acquire(ctx, name)
	if err == nil { // the backend noticed the loss itself, and was sent again in time
		if err := lease.Release(t.ctx); err != nil {
			t.fatalf("release: %v", err)
		}
	} else if errors.Is(err, rowlock.ErrHeld) {
		t.fatalf("a reply that was lost is taken for a refusal: %v", err)
	}
	t.isFree(b, name)
}

func releaseReplyLost(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	t.warm(a)
	lease := t.acquire(t.locker(a, rowlock.TTL(12*lively)), name)
	t.dropReply(a)
	if err := lease.Release(t.ctx); err != nil && !errors.Is(err, rowlock.ErrUnknown) {
		t.fatalf("release: want success or rowlock.ErrUnknown, got %v", err)
	}
	if took := timed(func() { t.isFree(b, name) }); took > 4*lively {
		t.fatalf("the name was free %s after the release, when it would have been without it", took)
	}
}

func renewalReplyLost(t *trial) {
	a := t.open()
	t.warm(a)
	lease := t.acquire(t.locker(a), t.key("x").Name)
	t.dropReply(a)
	ctx, cancel := t.withTimeout(lively / 4)
	defer cancel()
	if err := lease.Renew(ctx); err != nil && !errors.Is(err, rowlock.ErrUnknown) {
		t.fatalf("renew: want success or rowlock.ErrUnknown, got %v", err)
	}
	if err := lease.Err(); err != nil {
		t.fatalf("one lost reply ends a lease of %s: %v", steady, err)
	}
	if sessions(a) { // a connection that loses a reply hears nothing more
		return
	}
	t.poll("a renewal succeeds after one was lost", func() bool { return lease.Renew(t.ctx) == nil })
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
}

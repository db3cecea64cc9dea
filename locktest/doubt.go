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
		promise: "An acquire whose reply was lost is repeated, and returns the lease of the first request.",
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
		promise: "A release whose reply was lost is repeated, and does not report its own effect as a loss.",
		needs:   []power{dropping},
		run:     releaseReplyLost,
	},
	{
		name:    "renewal-reply-lost",
		promise: "A renewal whose reply was lost has an unknown outcome: it is retried, and the lease stays held.",
		needs:   []power{dropping},
		run:     renewalReplyLost,
	},
}

// warm sends every kind of request of b once, so that the connection of b is open.
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
		t.fatalf("granted token %d; a refusal reports %d", lease.Token(), held.Token)
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
	l := t.locker(a, rowlock.TTL(4*t.patience)) // the TTL outlasts the case, so only a release by the locker frees the name
	t.dropReply(a)
	ctx, cancel := t.withTimeout(lively / 4)
	defer cancel()
	lease, err := l.Acquire(ctx, name)
	if err == nil { // the backend noticed the lost reply itself, and repeated the request in time
		if err := lease.Release(t.ctx); err != nil {
			t.fatalf("release: %v", err)
		}
	} else if errors.Is(err, rowlock.ErrHeld) {
		t.fatalf("a lost reply is reported as a refusal: %v", err)
	}
	t.isFree(b, name)
}

func releaseReplyLost(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	t.warm(a)
	lease := t.acquire(t.locker(a, rowlock.TTL(30*lively)), name)
	t.dropReply(a)
	if err := lease.Release(t.ctx); err != nil && !errors.Is(err, rowlock.ErrUnknown) {
		t.fatalf("release: want success or rowlock.ErrUnknown, got %v", err)
	}
	if took := timed(func() { t.isFree(b, name) }); took > 12*lively {
		t.fatalf("the name became free only %s after the release", took)
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
	if sessions(a) { // a connection that lost one reply gets no later replies
		return
	}
	t.poll("a renewal succeeds after one was lost", func() bool { return lease.Renew(t.ctx) == nil })
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
}

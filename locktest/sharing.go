package locktest

import (
	"errors"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var sharingCases = []testCase{
	{
		name:    "shared-grants-share",
		promise: "Shared grants of a name stand beside one another, of one client and of several, each with a token, a renewal and a release of its own.",
		needs:   []power{sharing},
		run:     sharedGrantsShare,
	},
	{
		name:    "shared-keeps-out",
		promise: "A shared grant excludes an exclusive one until the last of those who share is gone, and an exclusive one excludes them.",
		needs:   []power{sharing},
		run:     sharedExcludes,
	},
	{
		name:    "shared-same-nonce",
		promise: "A shared request that is sent again is granted what it was granted before, also beside others.",
		needs:   []power{sharing},
		run:     sharedSameNonce,
	},
	{
		name:    "shared-waiters-wake",
		promise: "Those who wait to share a name all get it, at the same time, once its holder has released it.",
		needs:   []power{sharing},
		run:     sharedWaitersWake,
	},
	{
		name:    "writer-is-not-passed",
		promise: "Who waits for a name alone gets it when the last of those who share it is gone; where the store is fair, nobody comes to share it meanwhile.",
		needs:   []power{sharing},
		run:     writerIsNotPassed,
	},
}

// openShared returns a new client, and its shared form.
func (t *trial) openShared() (exclusive, shared driver.Backend) {
	exclusive = t.open()
	return exclusive, t.harness.(Sharer).Shared(exclusive)
}

func sharedGrantsShare(t *trial) {
	_, a := t.openShared()
	_, b := t.openShared()
	key := t.key("x")
	one, two, three := t.grant(a, t.request(key)), t.grant(a, t.request(key)), t.grant(b, t.request(key))
	if ordered(a) {
		t.rises(one.Token, two.Token)
		t.rises(two.Token, three.Token)
	}
	t.release(a, one)
	t.release(a, one)
	t.isLost(a, one, "after the release")
	t.isHeld(a, two)
	t.isHeld(b, three)
}

func sharedExcludes(t *trial) {
	a, aShared := t.openShared()
	b, bShared := t.openShared()
	key := t.key("x")
	one, two := t.grant(aShared, t.request(key)), t.grant(bShared, t.request(key))
	for _, g := range []struct {
		of driver.Backend
		driver.Grant
	}{{aShared, one}, {bShared, two}} {
		t.refuse(a, t.request(key))
		t.refuse(b, t.request(key))
		t.release(g.of, g.Grant)
	}
	alone := t.grant(a, t.request(key))
	t.refuse(aShared, t.request(key))
	t.refuse(bShared, t.request(key))
	t.isHeld(a, alone)
	t.release(a, alone)
	t.grant(bShared, t.request(key))
}

func sharedSameNonce(t *trial) {
	_, a := t.openShared()
	_, b := t.openShared()
	first := t.request(t.key("x"))
	g := t.grant(a, first)
	other := t.grant(b, t.request(first.Key))
	for range 2 {
		if again := t.grant(a, first); again.Token != g.Token {
			t.fatalf("the same nonce was granted token %d and then %d", g.Token, again.Token)
		}
		first.Waiting = true
	}
	t.release(a, g)
	t.isLost(a, g, "after the release")
	t.isHeld(b, other)
}

func sharedWaitersWake(t *trial) {
	a, b := t.open(), t.open()
	_, aShared := t.openShared()
	_, bShared := t.openShared()
	name := t.key("x").Name
	lease := t.acquire(t.locker(a), name)
	readers := []*waiter{t.wait(t.ctx, t.locker(aShared), name), t.wait(t.ctx, t.locker(bShared), name)}
	if err := lease.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	for _, r := range readers { // the first keeps it while the second gets it
		t.has(r)
	}
	t.tryHeld(t.locker(b), name)
}

func writerIsNotPassed(t *trial) {
	a, aShared := t.openShared()
	b, bShared := t.openShared()
	name := t.key("x").Name
	reading := t.acquire(t.locker(aShared), name)
	writer := t.wait(t.ctx, t.locker(a), name)
	if fair(b) {
		reader := t.locker(bShared)
		t.poll("who waits alone stands in the queue, and is not passed", func() bool {
			lease, err := reader.TryAcquire(t.ctx, name)
			if lease != nil {
				_ = lease.Release(t.ctx)
				return false
			}
			return errors.Is(err, rowlock.ErrHeld)
		})
	}
	select {
	case <-writer.done:
		t.fatalf("while it is shared: granted alone, or refused: %v", writer.err)
	default:
	}
	if err := reading.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	t.has(writer)
	t.refuse(bShared, t.request(driver.Key{Name: name}))
}

// fair says whether the backend declares that it grants in the order of the requests.
func fair(b driver.Backend) bool {
	return b.Capabilities().Fair
}

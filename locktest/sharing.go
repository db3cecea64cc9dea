package locktest

import (
	"errors"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var sharingCases = []testCase{
	{
		name:    "shared-grants-share",
		promise: "Several shared grants of a name may exist at the same time, of one or several clients, each with its own token, renewal and release.",
		needs:   []power{sharing},
		run:     sharedGrantsShare,
	},
	{
		name:    "shared-keeps-out",
		promise: "An exclusive grant is refused until the last shared grant has ended, and shared grants are refused while an exclusive grant exists.",
		needs:   []power{sharing},
		run:     sharedExcludes,
	},
	{
		name:    "shared-same-nonce",
		promise: "A repeated shared request returns the same grant, also beside other shared grants.",
		needs:   []power{sharing},
		run:     sharedSameNonce,
	},
	{
		name:    "shared-waiters-wake",
		promise: "After the holder's release, all waiters for a shared grant acquire the name at the same time.",
		needs:   []power{sharing},
		run:     sharedWaitersWake,
	},
	{
		name:    "writer-is-not-passed",
		promise: "A waiter for an exclusive grant acquires the name after the last shared grant has ended. If the store is fair, no later shared request overtakes it.",
		needs:   []power{sharing},
		run:     writerIsNotPassed,
	},
}

// openShared returns a new client and its shared form.
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
	t.isLost(a, one, "a grant that was released")
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
	t.isLost(a, g, "a grant that was released")
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
	for _, r := range readers { // the first reader holds its grant while the second reader acquires
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
		t.poll("a waiter for an exclusive grant is in the queue, and no request overtakes it", func() bool {
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
		t.fatalf("an exclusive acquire ended while a shared grant was held; its error: %v", writer.err)
	default:
	}
	if err := reading.Release(t.ctx); err != nil {
		t.fatalf("release: %v", err)
	}
	t.has(writer)
	t.refuse(bShared, t.request(driver.Key{Name: name}))
}

// fair reports whether the backend declares that it grants in the order of the requests.
func fair(b driver.Backend) bool {
	return b.Capabilities().Fair
}

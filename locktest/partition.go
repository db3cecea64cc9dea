package locktest

import (
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var partitionCases = []testCase{
	{
		name:    "trust-ends-first",
		promise: "A holder that is cut off from the store stops trusting its lease before the store can grant the name to another holder.",
		needs:   []power{partitioning},
		run:     trustEndsFirst,
	},
	{
		name:    "unavailable-is-not-held",
		promise: "If the store does not reply, a call ends within seconds with the error unavailable, and not with held.",
		needs:   []power{partitioning},
		run:     unavailableIsNotHeld,
	},
	{
		name:    "close-is-bounded",
		promise: "Close of a locker whose store does not reply ends within seconds, however many leases it has.",
		needs:   []power{partitioning},
		run:     closeIsBounded,
	},
}

// callLimit is the longest time that one operation waits for a store that hangs, if the TTL is a few seconds.
const callLimit = 5 * time.Second

func (t *trial) cut(b driver.Backend) {
	if err := t.harness.(Partitioner).Cut(b); err != nil {
		t.fatalf("cut a client off: %v", err)
	}
}

func (t *trial) restore(b driver.Backend) {
	if err := t.harness.(Partitioner).Restore(b); err != nil {
		t.fatalf("restore a client's network: %v", err)
	}
}

func trustEndsFirst(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	t.warm(a)
	l := t.locker(a, rowlock.TTL(lively))
	lease := t.acquire(l, name)
	for errors.Is(lease.Renew(t.ctx), rowlock.ErrLost) { // the machine was too slow for this TTL
		lease = t.acquire(l, name)
	}
	t.cut(a)
	if sessions(a) { // this kind of store grants the name only after it has noticed that the connection is gone
		t.await(lease.Context().Done(), "a holder that is cut off stops trusting its lease")
		t.restore(a)
	}
	next := t.acquire(t.locker(b), name)
	now := time.Now()
	if err := lease.Err(); err == nil {
		t.fatalf("the name was granted again while a holder that is cut off trusts its lease for another %s", lease.ExpiresAt().Sub(now))
	}
	t.restore(a)
	t.isLostLease(lease)
	t.renewLease(next)
	t.tryHeld(t.locker(t.open()), name)
}

func unavailableIsNotHeld(t *trial) {
	a := t.open()
	name := t.key("x").Name
	t.isFree(a, name)
	l := t.locker(a, rowlock.TTL(lively))
	t.cut(a)
	var err error
	took := timed(func() { _, err = l.TryAcquire(t.ctx, name) })
	if !errors.Is(err, rowlock.ErrUnavailable) || errors.Is(err, rowlock.ErrHeld) {
		t.fatalf("want rowlock.ErrUnavailable and not rowlock.ErrHeld, got %v", err)
	}
	if took > callLimit+slack {
		t.fatalf("a call to a store that does not reply took %s", took)
	}
}

func closeIsBounded(t *trial) {
	a := t.open()
	t.warm(a)
	l := t.locker(a, rowlock.TTL(kept))
	for i := range 40 {
		t.acquire(l, t.key(fmt.Sprint(i)).Name)
	}
	t.cut(a)
	var err error
	if took := timed(func() { err = l.Close() }); took > callLimit+slack {
		t.fatalf("closing took %s", took)
	}
	if err == nil {
		t.fatalf("Close reports forty released leases, but no request reached the store")
	}
}

package locktest

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var tickCases = []testCase{
	{
		name:    "tick-is-recorded",
		promise: "A release with a tick records the tick. Later grants return it, to every client, and a release without a tick does not change it.",
		run:     tickIsRecorded,
	},
	{
		name:    "tick-outlives-holders",
		promise: "A recorded tick outlives an expired lease, a hand-over, a forced release and a pause.",
		run:     tickOutlivesHolders,
	},
	{
		name:    "tick-needs-the-grant",
		promise: "A release of a grant that is not held records no tick. A repeated release does not replace a later tick.",
		run:     tickNeedsTheGrant,
	},
	{
		name:    "tick-reply-lost",
		promise: "If the reply to a release with a tick is lost, the tick is recorded.",
		needs:   []power{dropping},
		run:     tickReplyLost,
	},
	{
		name:    "once-per-tick",
		promise: "Of several callers of rowlock.Once for one tick, one runs its function. The callers that wait get ErrDone.",
		run:     oncePerTick,
	},
}

// needTicks skips a case if the backend declares that it keeps no ticks.
func (t *trial) needTicks(b driver.Backend) {
	if !b.Capabilities().Ticks {
		t.skipf("the backend keeps no ticks (driver.Capabilities.Ticks)")
	}
}

// releaseDone releases g and records the tick.
func (t *trial) releaseDone(b driver.Backend, g driver.Grant, tick string) {
	g.Done = tick
	t.release(b, g)
}

// isDone checks that a new grant of key returns the tick, and releases the grant.
func (t *trial) isDone(b driver.Backend, key driver.Key, tick, when string) {
	g := t.grantAtLast(b, t.request(key))
	if g.Done != tick {
		t.fatalf("%s: the grant of %q returns the tick %q, want %q", when, key, g.Done, tick)
	}
	g.Done = ""
	t.release(b, g)
}

// The text secondTick has characters that a store may treat in a special way. The text longTick has the greatest
// permitted length.
const (
	firstTick  = "2026-11-23T00:00:00Z"
	secondTick = `it's 'x' "y" \z %s $1 {"a": null} ~`
	longTick   = "-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-123456789-1234567"
)

func tickIsRecorded(t *trial) {
	a, b := t.open(), t.open()
	t.needTicks(a)
	key := t.key("x")
	t.isDone(a, key, "", "before the first tick")
	for _, tick := range []string{firstTick, secondTick, longTick, firstTick} {
		t.releaseDone(a, t.grant(a, t.request(key)), tick)
		t.isDone(b, key, tick, "after a release with a tick")
		t.isDone(a, key, tick, "after a release without a tick")
	}
	t.isDone(b, t.key("y"), "", "another name")
	if o, ok := b.(driver.Operator); ok {
		if got := t.inspect(o, key).Done; got != firstTick {
			t.fatalf("an inspection returns the tick %q, want %q", got, firstTick)
		}
	}
}

func tickOutlivesHolders(t *trial) {
	a, b := t.open(), t.open()
	t.needTicks(a)
	key := t.key("x")
	t.releaseDone(a, t.grant(a, t.request(key)), firstTick)
	t.expired(a, t.request(key))
	t.isDone(b, key, firstTick, "after an expiry")
	g := t.grant(a, t.request(key))
	again := t.grant(a, driver.Request{Key: key, Nonce: g.Nonce, TTL: steady, Holder: "locktest"})
	if again.Done != firstTick {
		t.fatalf("a repeated request returns the tick %q, want %q", again.Done, firstTick)
	}
	if h, ok := a.(driver.HandOverer); ok {
		g = t.handOver(h, g, t.request(key))
	}
	t.release(a, g)
	t.isDone(b, key, firstTick, "after a hand-over")
	o, ok := a.(driver.Operator)
	if !ok || !ordered(a) {
		return
	}
	g = t.grant(a, t.request(key))
	if err := o.ForceRelease(t.ctx, key, g.Token, true); err != nil {
		t.fatalf("forced release: %v", err)
	}
	t.isDone(b, key, firstTick, "after a forced release")
	if !a.Capabilities().Pauses {
		return
	}
	g = t.grant(a, t.request(key))
	t.pause(o, g, driver.NewNonce())
	if err := o.ForceRelease(t.ctx, key, g.Token, true); err != nil {
		t.fatalf("end the pause: %v", err)
	}
	t.isDone(b, key, firstTick, "after a pause")
}

func tickNeedsTheGrant(t *trial) {
	a, b := t.open(), t.open()
	t.needTicks(a)
	key := t.key("x")
	old := t.grant(a, t.request(key))
	t.releaseDone(a, old, firstTick)
	next := t.grant(b, t.request(key))
	stranger := driver.Grant{Key: key, Nonce: driver.NewNonce(), Token: next.Token, TTL: steady, Done: secondTick}
	t.releaseNot(a, stranger)
	later := next
	later.Token, later.Done = next.Token+1, secondTick
	t.releaseNot(a, later)
	old.Done = secondTick
	if err := a.Release(t.ctx, old); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("repeat a release after another grant: %v", err)
	}
	t.isHeld(b, next)
	next.Done = ""
	t.release(b, next)
	t.isDone(b, key, firstTick, "after releases of grants that were not held")
	lost := t.expired(a, t.request(key))
	t.isDone(b, key, firstTick, "after an expiry")
	lost.Done = secondTick
	if err := a.Release(t.ctx, lost); err != nil && !errors.Is(err, driver.ErrNotHeld) {
		t.fatalf("release of a grant that was taken over: %v", err)
	}
	t.isDone(b, key, firstTick, "after a release of a grant that was taken over")
}

func tickReplyLost(t *trial) {
	a, b := t.open(), t.open()
	t.needTicks(a)
	t.warm(a)
	l := t.locker(a)
	key := t.key("x")
	err := rowlock.Once(t.ctx, l, key.Name, firstTick, func(context.Context, *rowlock.Lease) error {
		t.dropReply(a)
		return nil
	})
	if err != nil && !errors.Is(err, rowlock.ErrUnknown) {
		t.fatalf("rowlock.Once: %v", err)
	}
	t.isDone(b, key, firstTick, "after a release whose reply was lost")
}

func oncePerTick(t *trial) {
	a, b := t.open(), t.open()
	t.needTicks(a)
	name := t.key("x").Name
	one, other := t.locker(a), t.locker(b)
	waits := make(chan struct{})
	var runs atomic.Int64
	done := make(chan error, 1)
	var told atomic.Bool
	trace := rowlock.Tracing(&rowlock.Trace{Waiting: func(rowlock.WaitingEvent) {
		if told.CompareAndSwap(false, true) {
			close(waits)
		}
	}})
	err := rowlock.Once(t.ctx, one, name, firstTick, func(ctx context.Context, _ *rowlock.Lease) error {
		runs.Add(1)
		go func() {
			done <- rowlock.Once(t.ctx, other, name, firstTick, func(context.Context, *rowlock.Lease) error {
				runs.Add(1)
				return nil
			}, trace)
		}()
		t.await(waits, "the second caller waits")
		return nil
	})
	if err != nil {
		t.fatalf("rowlock.Once: %v", err)
	}
	if err := <-done; !errors.Is(err, rowlock.ErrDone) {
		t.fatalf("the caller that waited: want rowlock.ErrDone, got %v", err)
	}
	if got := runs.Load(); got != 1 {
		t.fatalf("the function ran %d times for one tick", got)
	}
	err = rowlock.Once(t.ctx, other, name, secondTick, func(context.Context, *rowlock.Lease) error {
		runs.Add(1)
		return errors.New("failed")
	})
	if err == nil || errors.Is(err, rowlock.ErrDone) {
		t.fatalf("the next tick: want the error of its function, got %v", err)
	}
	err = rowlock.Once(t.ctx, one, name, secondTick, func(context.Context, *rowlock.Lease) error {
		runs.Add(1)
		return nil
	})
	if err != nil || runs.Load() != 3 {
		t.fatalf("the tick after a failure: want another run, got %v after %d runs", err, runs.Load())
	}
}

package locktest

import (
	"context"
	"errors"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var lossCases = []testCase{
	{
		name:    "loss-is-told",
		promise: "A lease that the store has ended is lost: its context ends, and every method, including Release, reports the loss from then on.",
		needs:   []power{expiring},
		run:     lossIsTold,
	},
	{
		name:    "loss-ends-the-work",
		promise: "The context of the work in Do ends when the lease is lost, and Do reports the loss, even if the work succeeded.",
		needs:   []power{expiring},
		run:     lossEndsTheWork,
	},
	{
		name:    "maximum-hold-frees",
		promise: "When a maximum hold is over the lease is lost, and the name is free soon afterwards, even if the holder does nothing.",
		run:     maximumHoldFrees,
	},
	{
		name:    "loss-harms-nobody",
		promise: "No call of a former holder changes the lease of the next holder.",
		needs:   []power{expiring},
		run:     lossHarmsNobody,
	},
}

func (t *trial) expireName(name string) {
	t.expire(t.harness.(Expirer), driver.Key{Name: name})
}

func lossIsTold(t *trial) {
	name := t.key("x").Name
	lease := t.acquire(t.locker(t.open(), rowlock.RenewEvery(lively/10)), name)
	t.expireName(name)
	t.await(lease.Context().Done(), "the context of an expired lease ends with its next renewal")
	t.isLostLease(lease)
	t.isFree(t.open(), name)
}

func lossEndsTheWork(t *trial) {
	name := t.key("x").Name
	l := t.locker(t.open(), rowlock.RenewEvery(lively/10))
	ctx, cancel := t.withTimeout(t.patience)
	defer cancel()
	var cause error
	found := false
	err := l.Do(ctx, name, func(ctx context.Context, lease *rowlock.Lease) error {
		of, ok := rowlock.FromContext(ctx)
		found = ok && of == lease
		t.expireName(name)
		<-ctx.Done()
		cause = context.Cause(ctx)
		return nil
	})
	switch {
	case !found:
		t.fatalf("rowlock.FromContext does not find the lease")
	case !errors.Is(cause, rowlock.ErrLost):
		t.fatalf("want the work's context to end with rowlock.ErrLost, got %v", cause)
	case !errors.Is(err, rowlock.ErrLost):
		t.fatalf("want Do to return rowlock.ErrLost, got %v", err)
	}
}

func maximumHoldFrees(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	l := t.locker(a, rowlock.TTL(3*steady), rowlock.MaxHold(lively), rowlock.Margin(lively/4)) // with this TTL, only MaxHold can free the name during the case
	lease := t.acquire(l, name)
	t.await(lease.Context().Done(), "the context of a lease ends with its maximum hold")
	var lost *rowlock.LostError
	if err := lease.Err(); !errors.As(err, &lost) || lost.Reason != rowlock.LostMaxHold {
		t.fatalf("want a *rowlock.LostError with reason %s, got %v", rowlock.LostMaxHold, err)
	}
	t.isFree(b, name)
	t.isLostLease(lease)
}

func lossHarmsNobody(t *trial) {
	a, b := t.open(), t.open()
	name := t.key("x").Name
	old := t.acquire(t.locker(a), name) // this locker renews so rarely that it does not notice the loss
	t.expireName(name)
	present := t.acquire(t.locker(b), name)
	if present.Token() == old.Token() && old.Token() != 0 {
		t.fatalf("two holders were granted token %d", old.Token())
	}
	if err := old.Release(t.ctx); !errors.Is(err, rowlock.ErrLost) {
		t.fatalf("release of a lease that was taken over: want rowlock.ErrLost, got %v", err)
	}
	t.renewLease(present)
	t.tryHeld(t.locker(a), name)
	if err := present.Release(t.ctx); err != nil {
		t.fatalf("release by the current holder: %v", err)
	}
}

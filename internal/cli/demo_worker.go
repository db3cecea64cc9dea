package cli

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// What happens in the first demonstration.
const (
	demoBalance  = 100
	demoWithdraw = 30 // by A
	demoDeposit  = 50 // by B
	demoRight    = demoBalance - demoWithdraw + demoDeposit

	demoTTL      = time.Second            // of A's lease, which B waits for
	demoTTLAwake = 10 * time.Second       // of those not paused: not lost on a busy machine
	demoStep     = 300 * time.Millisecond // what a worker takes to compute, and A to wake after B
	demoBelieved = 2 * demoTimeout        // how long A trusts its lease: to the end
)

// balance is the name of the amount that both workers change.
const balance = "balance"

// pauseStory is a worker that is paused for longer than its lease. All steps are taken in order, by
// one goroutine; renewals run besides.
type pauseStory struct {
	*demo

	a, b   *rowlock.Locker
	awake  *rowlock.Locker // A's once it is paused no more
	fenced bool
	says   *timeline
}

// pausedWorker tells the story, with the fence or without.
func (d *demo) pausedWorker(ctx context.Context, fenced bool) error {
	if err := d.insert(ctx, balance, demoBalance); err != nil {
		return fmt.Errorf("insert the balance: %w", err)
	}
	opts := []rowlock.Option{rowlock.Wait(demoTimeout)}
	if fenced {
		opts = append(opts, rowlock.Fenced(d.guard))
	}
	s := &pauseStory{demo: d, fenced: fenced}
	waiting := sync.OnceFunc(func() { s.says.b("wants the lock: A has it, so B waits") })
	trace := &rowlock.Trace{HeldByOther: func(rowlock.HeldByOtherEvent) { waiting() }}
	for _, w := range []struct {
		locker  **rowlock.Locker
		backend driver.Backend
		options []rowlock.Option
	}{
		{&s.a, &pausing{d.store.backend, demoBelieved}, []rowlock.Option{rowlock.TTL(demoTTL), rowlock.Holder("worker A of rowlock demo")}},
		{&s.awake, d.store.backend, []rowlock.Option{rowlock.TTL(demoTTLAwake), rowlock.Holder("worker A of rowlock demo")}},
		{&s.b, d.store.backend, []rowlock.Option{rowlock.TTL(demoTTLAwake), rowlock.Holder("worker B of rowlock demo"), rowlock.Tracing(trace)}},
	} {
		locker, err := d.locker(w.backend, slices.Concat(opts, w.options)...)
		if err != nil {
			return err
		}
		defer func() { _ = locker.Close() }() // that A's lease was lost is the story; Do has reported the others
		*w.locker = locker
	}
	fmt.Fprintf(d.out, "The balance is %d. A withdraws %d, B deposits %d, each under the same lock.\n", demoBalance, demoWithdraw, demoDeposit)
	fmt.Fprintf(d.out, "A is paused for longer than its lease of %s.\n\n", demoTTL)
	s.says = newTimeline(d.out)
	return s.tell(ctx)
}

func (s *pauseStory) tell(ctx context.Context) error {
	old, err := s.a.Acquire(ctx, demoLock)
	if err != nil {
		return err
	}
	s.says.a("gets the lock", "token "+old.Token().String())
	read, err := s.read(ctx, s.store.db, balance)
	if err != nil {
		return fmt.Errorf("read the balance: %w", err)
	}
	s.says.a(fmt.Sprintf("reads the balance: %d", read))
	if err := wait(ctx, demoStep); err != nil {
		return err
	}
	s.says.a("is paused: nothing renews its lease")

	if err := s.change(ctx, s.b, s.says.b, "A's lease has expired: gets the lock", demoDeposit); err != nil {
		return err
	}
	if err := wait(ctx, demoStep); err != nil {
		return err
	}
	s.says.a("wakes, and has not noticed", fmt.Sprintf("writes what it computed: %d", read-demoWithdraw))
	if err := s.writeLate(ctx, old, read-demoWithdraw); err != nil {
		return err
	}
	_ = old.Release(ctx) // it was lost long ago
	if s.fenced {        // without, A thinks that it is done
		if err := s.change(ctx, s.awake, s.says.a, "begins again: gets the lock", -demoWithdraw); err != nil {
			return err
		}
	}
	return s.conclude(ctx)
}

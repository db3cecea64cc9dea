package demo

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
)

// The amounts and durations of "rowlock demo".
const (
	demoBalance  = 100
	demoWithdraw = 30 // by A
	demoDeposit  = 50 // by B
	demoRight    = demoBalance - demoWithdraw + demoDeposit

	demoTTL      = time.Second            // the TTL of A's lease; B waits until this lease expires
	demoTTLAwake = 10 * time.Second       // the TTL of the other leases, long enough for a busy machine
	demoStep     = 300 * time.Millisecond // the duration of a worker's computation, and the delay between B's release and A's continuation
	demoBelieved = 2 * Timeout            // the TTL that the backend reports to A; longer than the demonstration
)

// balance is the name of the row that both workers change.
const balance = "balance"

// pauseStory runs the demonstration with a worker that is suspended for longer than its lease. One goroutine runs all
// steps of both workers in order. Renewals run in other goroutines.
type pauseStory struct {
	*Demo

	a, b   *rowlock.Locker
	awake  *rowlock.Locker // the locker that A uses after it has continued
	fenced bool
	says   *timeline
}

// PausedWorker runs the demonstration of a suspended worker. If fenced is false, the workers do not use the fence.
func (d *Demo) PausedWorker(ctx context.Context, fenced bool) error {
	if err := d.insert(ctx, balance, demoBalance); err != nil {
		return fmt.Errorf("insert the balance: %w", err)
	}
	opts := []rowlock.Option{rowlock.Wait(Timeout)}
	if fenced {
		opts = append(opts, rowlock.Fenced(d.guard))
	}
	s := &pauseStory{Demo: d, fenced: fenced}
	waiting := sync.OnceFunc(func() { s.says.b("wants the lock: A has it, so B waits") })
	trace := &rowlock.Trace{HeldByOther: func(rowlock.HeldByOtherEvent) { waiting() }}
	for _, w := range []struct {
		locker  **rowlock.Locker
		backend driver.Backend
		options []rowlock.Option
	}{
		{&s.a, &pausing{d.store.Backend, demoBelieved}, []rowlock.Option{rowlock.TTL(demoTTL), rowlock.Holder("worker A of rowlock demo")}},
		{&s.awake, d.store.Backend, []rowlock.Option{rowlock.TTL(demoTTLAwake), rowlock.Holder("worker A of rowlock demo")}},
		{&s.b, d.store.Backend, []rowlock.Option{rowlock.TTL(demoTTLAwake), rowlock.Holder("worker B of rowlock demo"), rowlock.Tracing(trace)}},
	} {
		locker, err := d.locker(w.backend, slices.Concat(opts, w.options)...)
		if err != nil {
			return err
		}
		defer func() { _ = locker.Close() }() // ignored: A's lease is lost on purpose, and Do has returned the errors of the other leases
		*w.locker = locker
	}
	fmt.Fprintf(d.Out, "The balance is %d. A withdraws %d, B deposits %d, each under the same lock.\n", demoBalance, demoWithdraw, demoDeposit)
	fmt.Fprintf(d.Out, "A is suspended for longer than its lease of %s.\n\n", demoTTL)
	s.says = newTimeline(d.Out)
	return s.tell(ctx)
}

func (s *pauseStory) tell(ctx context.Context) error {
	old, err := s.a.Acquire(ctx, Lock)
	if err != nil {
		return err
	}
	s.says.a("gets the lock", "token "+old.Token().String())
	checks, err := s.guard.CheckSQL(old, Lock)
	if err != nil {
		return err
	}
	read, err := s.read(ctx, s.store.DB, balance)
	if err != nil {
		return fmt.Errorf("read the balance: %w", err)
	}
	s.says.a(fmt.Sprintf("reads the balance: %d", read))
	if err := wait(ctx, demoStep); err != nil {
		return err
	}
	s.says.a("is suspended: nothing renews its lease")

	if err := s.change(ctx, s.b, s.says.b, "A's lease has expired: gets the lock", demoDeposit); err != nil {
		return err
	}
	if err := wait(ctx, demoStep); err != nil {
		return err
	}
	s.says.a("continues, and has not noticed", fmt.Sprintf("writes what it computed: %d", read-demoWithdraw))
	if err := s.writeLate(ctx, old, read-demoWithdraw); err != nil {
		return err
	}
	if s.fenced {
		if err := s.writeLateByScript(ctx, checks, read-demoWithdraw); err != nil {
			return err
		}
	}
	_ = old.Release(ctx) // the error does not matter: the lease has expired
	if s.fenced {        // with the fence A's write was rejected, so A repeats its work
		if err := s.change(ctx, s.awake, s.says.a, "starts again: gets the lock", -demoWithdraw); err != nil {
			return err
		}
	}
	return s.conclude(ctx)
}

// change acquires the lock with the locker l, and adds amount to the balance, as a correct worker does.
func (s *pauseStory) change(ctx context.Context, l *rowlock.Locker, says func(...string), got string, amount int64) error {
	return l.Do(ctx, Lock, func(ctx context.Context, lease *rowlock.Lease) error {
		says(got, "token "+lease.Token().String())
		read, err := s.read(ctx, s.store.DB, balance)
		if err != nil {
			return fmt.Errorf("read the balance: %w", err)
		}
		says(fmt.Sprintf("reads the balance: %d", read))
		if err := wait(ctx, demoStep); err != nil {
			return err
		}
		if err := s.commit(ctx, read+amount); err != nil {
			return err
		}
		says(fmt.Sprintf("writes %d, releases the lock", read+amount))
		return nil
	})
}

// writeLate writes under an expired lease that worker A still trusts. With the fence, the write must be rejected.
func (s *pauseStory) writeLate(ctx context.Context, old *rowlock.Lease, amount int64) error {
	held, cancel := context.WithCancel(old.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := s.commit(held, amount)
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		s.says.a("REJECTED by the fence: stale, for", "the newest token is "+stale.Newest.String())
		return nil
	case err != nil:
		return err
	case s.fenced:
		return exit.Failf(exit.Internal, "the fence let a stale write through")
	}
	s.says.a("is not rejected")
	return nil
}

// commit writes the balance. With the fence it writes in a transaction that begins with a check. Without the fence it
// runs a single statement.
func (s *pauseStory) commit(ctx context.Context, amount int64) error {
	var err error
	if s.fenced {
		err = s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.write(ctx, tx, balance, amount) })
	} else {
		err = s.write(ctx, s.store.DB, balance, amount)
	}
	if err != nil {
		return fmt.Errorf("write the balance: %w", err)
	}
	return nil
}

// conclude prints the final balance, and returns an error if the fenced result is wrong.
func (s *pauseStory) conclude(ctx context.Context) error {
	final, err := s.read(ctx, s.store.DB, balance)
	if err != nil {
		return fmt.Errorf("read the balance: %w", err)
	}
	sum := fmt.Sprintf("%d - %d + %d = %d", demoBalance, demoWithdraw, demoDeposit, demoRight)
	switch {
	case s.fenced && final == demoRight:
		_, err = fmt.Fprintf(s.Out, "\nThe database rejected A's stale write, and B's deposit was kept.\nThe balance is %d, as it should be: %s.\n", final, sum)
	case s.fenced:
		return exit.Failf(exit.Internal, "the balance is %d, and not %s", final, sum)
	default:
		_, err = fmt.Fprintf(s.Out, "\nA lost update: A wrote over B's deposit, and no error was reported.\nThe balance is %d, and should be %s.\n", final, sum)
	}
	if err != nil {
		return exit.Failf(exit.Internal, "write to stdout: %w", err)
	}
	return nil
}

// wait blocks for the duration d, or until ctx ends.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

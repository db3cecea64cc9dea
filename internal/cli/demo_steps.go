package cli

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
)

// change adds to the balance under a lock of its own, as it should be done.
func (s *pauseStory) change(ctx context.Context, l *rowlock.Locker, says func(...string), got string, amount int64) error {
	return l.Do(ctx, demoLock, func(ctx context.Context, lease *rowlock.Lease) error {
		says(got, "token "+lease.Token().String())
		read, err := s.read(ctx, s.store.db, balance)
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

// writeLate writes under a lease that A believes in. With the fence, it must be refused.
func (s *pauseStory) writeLate(ctx context.Context, old *rowlock.Lease, amount int64) error {
	held, cancel := context.WithCancel(old.Context())
	defer cancel()
	defer context.AfterFunc(ctx, cancel)()
	err := s.commit(held, amount)
	var stale *fence.StaleError
	switch {
	case errors.As(err, &stale):
		s.says.a("REFUSED by the fence: stale, for", "the newest token is "+stale.Newest.String())
		return nil
	case err != nil:
		return err
	case s.fenced:
		return fail(exitInternal, "the fence let a stale write through")
	}
	s.says.a("is not refused")
	return nil
}

// commit writes the balance in a transaction that the fence lets through, or in one without.
func (s *pauseStory) commit(ctx context.Context, amount int64) error {
	var err error
	if s.fenced {
		err = s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.write(ctx, tx, balance, amount) })
	} else {
		err = s.write(ctx, s.store.db, balance, amount)
	}
	if err != nil {
		return fmt.Errorf("write the balance: %w", err)
	}
	return nil
}

// conclude says what has become of the balance.
func (s *pauseStory) conclude(ctx context.Context) error {
	final, err := s.read(ctx, s.store.db, balance)
	if err != nil {
		return fmt.Errorf("read the balance: %w", err)
	}
	sum := fmt.Sprintf("%d - %d + %d = %d", demoBalance, demoWithdraw, demoDeposit, demoRight)
	switch {
	case s.fenced && final == demoRight:
		_, err = fmt.Fprintf(s.out, "\nThe database refused A's stale write, and B's deposit was kept.\nThe balance is %d, as it should be: %s.\n", final, sum)
	case s.fenced:
		return fail(exitInternal, "the balance is %d, and not %s", final, sum)
	default:
		_, err = fmt.Fprintf(s.out, "\nA lost update: A wrote over B's deposit, and nobody was told.\nThe balance is %d, and should be %s.\n", final, sum)
	}
	if err != nil {
		return fail(exitInternal, "write to stdout: %w", err)
	}
	return nil
}

// wait is the time that work takes.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

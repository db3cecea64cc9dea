package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

// keepOutcomes is the minimum time for which an outcome row is kept after its last commit. If a row were deleted
// before Tx reads it, Tx would conclude that nothing was committed.
const keepOutcomes = 24 * time.Hour

// settleLimit is the usual time limit for finding out the outcome of a commit.
const settleLimit = 10 * time.Second

// attempt is one run of a transaction that was begun in database/sql or pgx.
type attempt struct {
	check    func(s slot) error // compares the marks and writes the outcome row
	work     func() error
	commit   func() error // commits; afterwards, if the state of the session is unknown, closes the connection
	rollback func() error // returns nil only if the transaction was still open
}

// attempt runs the transaction a, and returns nil only if it was committed. If the commit fails without an answer of
// the database, attempt reads the transaction's outcome row in another session. That read waits until the transaction
// in doubt has ended. A function such as txid_status of Postgres cannot replace the outcome row. After a failover that
// lost the transaction, the server can assign the number of the lost transaction to another one.
func (g *Guard) attempt(ctx context.Context, a attempt) error {
	s, ended := g.slots.take(), false
	defer func() {
		if a.rollback() == nil || ended {
			g.slots.give(s)
		}
	}()
	if err := a.check(s); err != nil {
		return err
	}
	if err := a.work(); err != nil {
		return g.dialect.explain(err)
	}
	failed := a.commit()
	if failed == nil || g.dialect.again(failed) {
		ended = true
		return failed
	}
	committed, err := g.settle(ctx, s)
	if err != nil {
		return fmt.Errorf("%w: %w (asked afterwards: %v)", ErrUnknown, failed, err) //nolint:errorlint // callers need only the error of the commit
	}
	ended = true
	switch {
	case committed:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("fence: nothing was committed: %w", withCause(ctx, failed))
	case g.dialect.refused(failed):
		return fmt.Errorf("fence: nothing was committed: %w", g.dialect.explain(failed))
	default:
		return retry(failed)
	}
}

// settle reports whether the transaction of s was committed. It continues after the end of ctx,
// because the caller has to know the outcome.
func (g *Guard) settle(ctx context.Context, s slot) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.settleLimit)
	defer cancel()
	var first error
	for step := firstPause; ; step = min(2*step, longPause) {
		last, err := g.ask(ctx, s)
		if err == nil {
			return last == s.operation, nil
		}
		if first == nil || ctx.Err() == nil {
			first = err // after the end of ctx, an error only says that the call was interrupted
		}
		if !backoff.Sleep(ctx, backoff.Jitter(step)) {
			return false, first
		}
	}
}

func (g *Guard) ask(ctx context.Context, s slot) (operation int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, g.settleLimit/4) // short, because several connections may have to be tried
	defer cancel()
	return g.dialect.outcome(ctx, s.id)
}

// pruneOutcomes deletes the outcome rows that were unused for the given time, and for keepOutcomes at least.
// It returns their number.
func (g *Guard) pruneOutcomes(ctx context.Context, unused time.Duration) (int, error) {
	return g.dialect.pruneOutcomes(ctx, max(unused, keepOutcomes))
}

// withCause adds to err the reason why ctx ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

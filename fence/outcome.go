package fence

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/internal/backoff"
)

const (
	// settleLimit bounds finding out what became of a commit.
	settleLimit = 10 * time.Second
	// askLimit bounds asking once: a pool may have more connections that do not answer.
	askLimit = settleLimit / 4
	// keepOutcomes is how long a slot is kept at least: one that is forgotten before it was asked for
	// would say that nothing was committed.
	keepOutcomes = 24 * time.Hour
)

// attempt is one run of a transaction that was begun in database/sql or pgx.
type attempt struct {
	check    func(s slot) error // and writes the slot
	work     func() error
	commit   func() error // destroys the session unless that is in order
	rollback func() error // nil only if the transaction was open until then
}

// attempt ends the transaction, and tells whether it was committed. The row of its slot, which was
// written before the commit was sent, is the evidence: whoever reads it in another session waits until
// the transaction in doubt has ended. (A database's own answer to that question, such as Postgres'
// txid_status, is about a number that is given anew after a failover which lost the transaction.)
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
		return fmt.Errorf("%w: %w (asked afterwards: %v)", ErrUnknown, failed, err) //nolint:errorlint // the commit's error is what counts
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

// settle reports whether the transaction of s was committed. ctx does not bound it: what was begun is
// to be known.
func (g *Guard) settle(ctx context.Context, s slot) (committed bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleLimit)
	defer cancel()
	var first error
	for step := firstPause; ; step = min(2*step, longPause) {
		last, err := g.ask(ctx, s)
		if err == nil {
			return last == s.operation, nil
		}
		if first == nil || ctx.Err() == nil {
			first = err // the last one only says that it was interrupted
		}
		if !backoff.Sleep(ctx, backoff.Jitter(step)) {
			return false, first
		}
	}
}

func (g *Guard) ask(ctx context.Context, s slot) (operation int64, err error) {
	ctx, cancel := context.WithTimeout(ctx, askLimit)
	defer cancel()
	return g.dialect.outcome(ctx, s.id)
}

// pruneOutcomes forgets the slots that were not used for so long, and for a day at least. It reports
// how many.
func (g *Guard) pruneOutcomes(ctx context.Context, unused time.Duration) (int, error) {
	return g.dialect.pruneOutcomes(ctx, max(unused, keepOutcomes))
}

// withCause adds why ctx ended.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		return fmt.Errorf("%w: %w", err, cause)
	}
	return err
}

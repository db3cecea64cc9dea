package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// errAlone is the cause of an outcome that makes the engine send a request on its own.
var errAlone = driver.NotApplied(errors.New("the request is not part of a committed batch"))

// call is a statement that returns at most one row.
type call struct {
	verb  string
	args  []any
	dest  []any
	found bool // true if the statement returned a row
}

// each runs the calls in one round trip and one transaction. It makes no second attempt.
func (r runner) each(ctx context.Context, calls []call) error {
	if r.unprepared.Load() {
		return driver.NotApplied(errors.ErrUnsupported)
	}
	var b pgx.Batch
	for i := range calls {
		c := &calls[i]
		b.Queue(r.sql[c.verb], c.args...).Query(func(rows pgx.Rows) error {
			if c.found = rows.Next(); c.found {
				if err := rows.Scan(c.dest...); err != nil {
					return err
				}
			}
			rows.Close()
			return rows.Err()
		})
	}
	return send(ctx, r.q, &b)
}

// send runs b on a connection of q. The transaction was committed if send returns nil. Only pgx can run a batch.
func send(ctx context.Context, q sqlbase.Querier, b *pgx.Batch) error {
	switch q := q.(type) {
	case sqlbase.Lender:
		return q.Lend(ctx, func(on sqlbase.Querier) error { return send(ctx, on, b) })
	case pgxQuerier:
		return sqlbase.Unsent(q.conn.SendBatch(ctx, b).Close()) // Close calls the functions of b
	default:
		return driver.NotApplied(errors.ErrUnsupported)
	}
}

// AcquireEach implements [driver.Batcher]. It sends the statements of all requests in one round trip, and commits once.
// Each statement grants a free lock. If a lock is not granted, the request on its own will say why. A waiter's request is never in a batch, so no batch locks a row of the table of waiters.
func (p *Backend) AcquireEach(ctx context.Context, requests []driver.Request) ([]driver.Grant, []error) {
	grants, errs := make([]driver.Grant, len(requests)), make([]error, len(requests))
	calls, answers := make([]call, len(requests)), make([]sqlbase.Answer, len(requests))
	var err error
	for i, r := range requests {
		if r.Shared || r.Seal != "" || r.Waiting || r.Waits {
			err = errAlone
		}
		a := &answers[i]
		calls[i] = call{verb: "acquire_free", args: acquireArgs(r), dest: []any{&a.Token, &a.Done}}
	}
	if err == nil {
		err = p.each(ctx, calls)
	}
	for i, r := range requests {
		switch {
		case err != nil:
			errs[i] = p.unbatched(ctx, "acquire", r.Key, err)
		case !calls[i].found:
			errs[i] = errAlone
		default:
			grants[i] = sqlbase.GrantOf(r, answers[i])
		}
	}
	return grants, errs
}

// ReleaseEach implements [driver.Batcher]. It sends the statements of all releases in one round trip, and commits once.
// If this process waits for one of the locks, ReleaseEach releases nothing. The release of that lock then locks the row
// of a waiter. A transaction that locks the rows of several waiters could deadlock.
func (p *Backend) ReleaseEach(ctx context.Context, grants []driver.Grant) []error {
	calls, errs := make([]call, len(grants)), make([]error, len(grants))
	var err error
	for i, g := range grants {
		_, crowded := p.waiters.released(g.Key)
		if g.Shared || g.Token == 0 || crowded {
			err = errAlone
		}
		calls[i] = call{verb: "release", args: releaseArgs(g), dest: []any{new(sqlbase.Verdict)}}
	}
	if err == nil {
		err = p.releases.each(ctx, calls)
	}
	for i, g := range grants {
		switch {
		case err != nil:
			errs[i] = p.unbatched(ctx, "release", g.Key, err)
		case !calls[i].found:
			errs[i] = errAlone
		}
	}
	return errs
}

// unbatched returns the outcome of a request in a batch that failed. If the batch had no effect, the error of the
// request on its own will say why.
func (p *Backend) unbatched(ctx context.Context, operation string, key driver.Key, err error) error {
	if err = p.classify(ctx, operation, key, err); driver.IsNotApplied(err) && !errors.Is(err, errors.ErrUnsupported) {
		return errAlone
	}
	return err
}

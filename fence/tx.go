package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/rowlock/rowlock/internal/backoff"
	"github.com/rowlock/rowlock/internal/oneline"
)

// maxTries is how often a transaction is run that the database undoes each time.
const maxTries = 10

// Tx runs fn in a transaction that begins with [Guard.Check] of the resources, and commits it if fn
// returns nil. When the database undoes the transaction (a serialization failure, a deadlock, the
// end of a wait for a lock), at the check, in fn or at the commit, all of it is run again, up to
// ten times in all, with jittered pauses: fn must have no other effect than on tx. In the end, the
// error is an [ErrRetry]. fn must neither commit nor roll back, and must return an error that it gets from
// tx: MySQL and MariaDB undo the whole transaction at a deadlock, and what a fn that goes on writes then is
// in none, not fenced, and reported as committed. So it is behind a statement that commits there by itself,
// such as CREATE TABLE.
//
// The answer is definite: nil means committed, by whichever run of fn, and an error means that
// nothing was. For that, each transaction also writes a row of the outcome table. If the commit
// fails with anything but a request to run again, such as a connection that breaks before the
// reply, the row is read through another connection of the pool, until the database has said what
// became of the transaction. One that broke and was not committed is run again, as above; one that
// the server refused is not, nor one that Postgres ended because it idled (see Check): it would
// idle again. Only if there is no answer within 10 s is the error an [ErrUnknown]. On SQLite, a fn that ignores the error of a statement
// that ends the transaction, such as INSERT OR ROLLBACK, gets that error as well: what fn wrote after it is committed.
//
// ctx bounds everything else, must come from the lease, and is handed to fn, whatever the driver does about it: a commit or a rollback that
// go-sql-driver/mysql waits for without regard to ctx goes on behind Tx, and so does what lib/pq waits for. The connection is in the
// pool's count until that has ended, which a readTimeout in the DSN of the former brings about. A commit to a file of SQLite is waited for.
// What fn does is the driver's alone.
func (g *Guard) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error, resources ...string) error {
	if g.err == nil && g.db == nil {
		return errors.New("fence: Tx: the guard has a pgx pool: use TxPgx")
	}
	return g.repeat(ctx, func() error {
		se, err := g.begin(ctx)
		if err != nil {
			return notBegun(ctx, err)
		}
		defer se.end(ctx, func() error { return g.leave(ctx, se.conn) }) //nolint:errcheck // of which nothing comes back
		return g.attempt(ctx, attempt{
			check:    func(s slot) error { return g.check(ctx, g.querier(se.tx), true, &s, resources) },
			work:     func() error { return g.worked(ctx, se.tx, fn(ctx, se.tx)) },
			commit:   func() error { return g.commit(ctx, se) },
			rollback: func() error { return se.end(ctx, se.tx.Rollback) },
		})
	})
}

func (g *Guard) commit(ctx context.Context, se *session) error {
	err := se.await(ctx, func() error {
		err := se.tx.Commit()
		if err != nil && !g.dialect.again(err) {
			discard(se.conn)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("fence: commit: %w", err)
	}
	return nil
}

// begin gives the transaction a connection that can be destroyed. One that has broken is passed over, as the
// pool itself passes over those that its driver knows to be stale: nothing was written.
func (g *Guard) begin(ctx context.Context) (*session, error) {
	for try := 1; ; try++ {
		conn, err := taken(ctx, g, func() (*sql.Conn, error) { return g.db.Conn(ctx) }, func(c *sql.Conn) { _ = c.Close() })
		if err != nil {
			return nil, oneline.Error(err)
		}
		tx, err := taken(ctx, g, func() (*sql.Tx, error) {
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				discard(conn) // it may have begun all the same
			}
			return tx, err
		}, func(tx *sql.Tx) {
			_ = tx.Rollback()
			discard(conn) // whatever came of it
		})
		if err == nil {
			return g.newSession(conn, tx), nil
		}
		if ctx.Err() != nil || g.dialect.refused(err) || try == maxTries {
			return nil, err
		}
	}
}

// TxPgx is [Guard.Tx] for a guard with a pgx pool.
func (g *Guard) TxPgx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error, resources ...string) error {
	if g.err == nil && g.pool == nil {
		return errors.New("fence: TxPgx: the guard has no pgx pool: use Tx")
	}
	return g.repeat(ctx, func() error {
		tx, err := g.beginPgx(ctx)
		if err != nil {
			return notBegun(ctx, err)
		}
		return g.attempt(ctx, attempt{
			check: func(s slot) error { return g.check(ctx, pgxQuerier{conn: tx}, true, &s, resources) },
			work:  func() error { return g.Explain(fn(ctx, tx)) },
			commit: func() error { // pgx itself closes a connection in doubt
				if err := tx.Commit(ctx); err != nil {
					return fmt.Errorf("fence: commit: %w", err)
				}
				return nil
			},
			rollback: func() error {
				ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
				defer cancel()
				return tx.Rollback(ending)
			},
		})
	})
}

// beginPgx passes over broken connections as begin does. A connection that cannot be made ends it.
func (g *Guard) beginPgx(ctx context.Context) (pgx.Tx, error) {
	for try := 1; ; try++ {
		tx, err := g.pool.Begin(ctx)
		var unconnected *pgconn.ConnectError
		if err == nil || ctx.Err() != nil || errors.As(err, &unconnected) || g.dialect.refused(err) || try == maxTries {
			return tx, oneline.Error(err)
		}
	}
}

// notBegun names why a transaction did not begin: also the end of the lease, where that has ended ctx.
func notBegun(ctx context.Context, err error) error {
	err = fmt.Errorf("fence: begin: %w", err)
	if ctx.Err() != nil {
		return withCause(ctx, err)
	}
	return err
}

// repeat runs once until it succeeds, or fails otherwise than by being undone.
func (g *Guard) repeat(ctx context.Context, once func() error) error {
	if g.err != nil {
		return g.err
	}
	step := firstPause
	for try := 1; ; try++ {
		err := once()
		if err != nil && !errors.Is(err, ErrRetry) && !errors.Is(err, ErrUnknown) && g.dialect.again(err) {
			err = retry(err)
		}
		if err == nil || !errors.Is(err, ErrRetry) || try == maxTries || !backoff.Sleep(ctx, backoff.Jitter(step)) {
			return err
		}
		step = min(2*step, longPause)
	}
}

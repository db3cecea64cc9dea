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

// maxTries is how often a transaction is run if the database rolls it back each time.
const maxTries = 10

// Tx begins a transaction, calls [Guard.Check] for the resources, runs fn, and commits if fn returns nil. If the
// database rolls the transaction back (a serialization failure, a deadlock, a lock wait that timed out), Tx runs all of
// it again, at most ten times in all, with jittered delays. After the last attempt the error is an [ErrRetry]. This
// applies to the check, to fn and to the commit.
//
// fn must obey three rules. It must have no effect except through tx, because it may run several times. It must neither
// commit nor roll back. It must return every error that it gets from tx: MySQL and MariaDB roll back the whole
// transaction at a deadlock. What fn writes after that is outside of any transaction, not fenced, and reported as
// committed. The same holds after a statement that commits implicitly there, such as CREATE TABLE.
//
// The result is definite. nil means committed, by whichever run of fn, and an error means that nothing was committed.
// For that, each transaction also writes a row of the outcome table. If the commit fails without an answer of the
// database, such as when the connection breaks, Tx reads that row on another connection of the pool, until the outcome
// is known. A transaction whose connection broke and that was not committed runs again, as above. A transaction that
// the server rejected does not run again. The same applies to one that Postgres ended because it idled (see Check): it
// would idle again. Only if the outcome is not known within 10 s is the error an [ErrUnknown]. On SQLite, that is also
// the error if fn ignores the error of a statement that ends the transaction, such as INSERT OR ROLLBACK: what fn wrote
// after it is committed.
//
// ctx must come from the lease and is passed to fn. It limits everything else in Tx, whatever the driver does:
// go-sql-driver/mysql and lib/pq ignore ctx in a commit or rollback, which then continues in the background. Its
// connection stays in use until that ends. With go-sql-driver/mysql, a readTimeout in the DSN ends it. Tx always waits
// for a commit to a SQLite file. Whether fn's own statements end with ctx depends on the driver.
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

// begin gets a connection that can be closed separately. It skips broken connections, as the pool skips those that its
// driver knows to be stale: nothing was written on them.
func (g *Guard) begin(ctx context.Context) (*session, error) {
	for try := 1; ; try++ {
		conn, err := taken(ctx, g, func() (*sql.Conn, error) { return g.db.Conn(ctx) }, func(c *sql.Conn) { _ = c.Close() })
		if err != nil {
			return nil, oneline.Error(err)
		}
		tx, err := taken(ctx, g, func() (*sql.Tx, error) {
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				discard(conn) // the transaction may have begun nevertheless
			}
			return tx, err
		}, func(tx *sql.Tx) {
			_ = tx.Rollback()
			discard(conn) // whatever the result
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
			commit: func() error { // pgx itself closes a connection in an unknown state
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

// beginPgx skips broken connections as begin does. It stops if no connection can be made.
func (g *Guard) beginPgx(ctx context.Context) (pgx.Tx, error) {
	for try := 1; ; try++ {
		tx, err := g.pool.Begin(ctx)
		var unconnected *pgconn.ConnectError
		if err == nil || ctx.Err() != nil || errors.As(err, &unconnected) || g.dialect.refused(err) || try == maxTries {
			return tx, oneline.Error(err)
		}
	}
}

// notBegun says why a transaction did not begin, also if the lease ended and with it ctx.
func notBegun(ctx context.Context, err error) error {
	err = fmt.Errorf("fence: begin: %w", err)
	if ctx.Err() != nil {
		return withCause(ctx, err)
	}
	return err
}

// repeat retries once while the database rolls it back.
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

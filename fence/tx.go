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

// maxTries is how often Tx runs a transaction that the database rolls back each time.
const maxTries = 10

// Tx begins a transaction, calls [Guard.Check] for the resources, runs fn, and commits if fn returns nil. The database
// may roll the transaction back because of a serialization failure, a deadlock or a lock wait that timed out. Tx then
// runs the transaction again from the beginning, at most ten times in all, with jittered delays. After the last attempt
// the error is an [ErrRetry]. This applies to a rollback during the check, during fn and at the commit.
//
// fn must obey three rules. It must have no effect except through tx, because it may run several times.
// It must neither commit nor roll back. It must return every error that it gets from tx: MySQL and MariaDB roll back
// the whole transaction at a deadlock. If fn continues, its later writes are outside of any transaction and not fenced,
// and Tx returns nil. The same happens on MySQL and MariaDB after a statement that commits implicitly,
// such as CREATE TABLE.
//
// The result is definite: nil means that one run of the transaction was committed, and an error means that nothing was
// committed. To find out the outcome of a commit, each transaction also writes a row of the outcome table. The commit
// may fail without an answer of the database, for example because the connection breaks. Tx then reads that row on
// another connection of the pool, and repeats the read until the outcome is known. If the transaction was not committed
// because the connection broke, Tx runs it again from the beginning. If the server rejects the commit for another
// reason, such as a deferred constraint, Tx does not run the transaction again. It also does not repeat a transaction
// that Postgres ended because it idled (see Check), because that transaction would idle again. If the outcome is not
// known within 10 s, the error is an [ErrUnknown]. SQLite has a second case of ErrUnknown: fn ignores the error of a
// statement that ends the transaction, such as INSERT OR ROLLBACK. SQLite then commits every later write of fn.
//
// ctx must come from the lease, and Tx passes it to fn. When ctx ends, Tx stops waiting for the database, even if the
// driver ignores ctx. There are two exceptions. Tx always waits until a commit to a SQLite file has ended. If the
// outcome of a commit is unknown, Tx waits for up to 10 s to find it out. go-sql-driver/mysql and lib/pq ignore ctx in
// a commit or rollback. Such a commit or rollback then continues in the background, and its connection stays in use
// until it ends. With go-sql-driver/mysql, a readTimeout in the DSN limits that time. Whether fn's own statements end
// with ctx depends on the driver.
func (g *Guard) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error, resources ...string) error {
	if g.err == nil && g.db == nil {
		return errors.New("fence: Tx: the guard has a pgx pool: use TxPgx")
	}
	return g.repeat(ctx, func() error {
		se, err := g.begin(ctx)
		if err != nil {
			return notBegun(ctx, err)
		}
		defer se.end(ctx, func() error { return g.leave(ctx, se.conn) }) //nolint:errcheck // the result of the transaction does not depend on this error
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

// begin begins a transaction on a connection that it can close separately. If BEGIN fails on a broken connection, begin
// retries on another connection, because nothing was written yet. The pool itself skips only those that its driver
// knows to be broken.
func (g *Guard) begin(ctx context.Context) (*session, error) {
	for try := 1; ; try++ {
		conn, err := taken(ctx, g, func() (*sql.Conn, error) { return g.db.Conn(ctx) }, func(c *sql.Conn) { _ = c.Close() })
		if err != nil {
			return nil, oneline.Error(err)
		}
		tx, err := taken(ctx, g, func() (*sql.Tx, error) {
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				discard(conn) // the server may have begun the transaction, although the call failed
			}
			return tx, err
		}, func(tx *sql.Tx) {
			_ = tx.Rollback()
			discard(conn) // even after a Rollback that succeeded: the caller has gone, so nothing else closes the connection
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

// beginPgx skips broken connections as begin does. It stops if the pool cannot connect to the server.
func (g *Guard) beginPgx(ctx context.Context) (pgx.Tx, error) {
	for try := 1; ; try++ {
		tx, err := g.pool.Begin(ctx)
		var unconnected *pgconn.ConnectError
		if err == nil || ctx.Err() != nil || errors.As(err, &unconnected) || g.dialect.refused(err) || try == maxTries {
			return tx, oneline.Error(err)
		}
	}
}

// notBegun returns the error for a transaction that did not begin. If ctx has ended, it adds the cause,
// for example that the lease has ended.
func notBegun(ctx context.Context, err error) error {
	err = fmt.Errorf("fence: begin: %w", err)
	if ctx.Err() != nil {
		return withCause(ctx, err)
	}
	return err
}

// repeat calls the given function, and calls it again after each [ErrRetry]. It calls the function at most maxTries
// times in all.
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

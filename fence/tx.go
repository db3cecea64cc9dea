package fence

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// maxTries is how often a transaction is run that the database undoes each time.
const maxTries = 10

// Tx runs fn in a transaction that begins with [Guard.Check] of the resources, and commits it if fn
// returns nil. When the database undoes the transaction (a serialization failure, a deadlock, the
// end of a wait for a lock), at the check, in fn or at the commit, all of it is run again, up to
// ten times in all, with jittered pauses: fn must have no other effect than on tx. In the end, the
// error is an [ErrRetry].
//
// ctx bounds everything, must come from the lease, and is handed to fn. An error of the commit that
// is no ErrRetry leaves open whether it was committed. fn must neither commit nor roll back.
func (g *Guard) Tx(ctx context.Context, fn func(ctx context.Context, tx *sql.Tx) error, resources ...string) error {
	if g.err == nil && g.db == nil {
		return errors.New("fence: Tx: the guard has a pgx pool: use TxPgx")
	}
	return g.repeat(ctx, func() error {
		conn, tx, err := g.begin(ctx)
		if err != nil {
			return fmt.Errorf("fence: begin: %w", err)
		}
		defer g.leave(ctx, conn)
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if err := g.Check(ctx, tx, resources...); err != nil {
			return err
		}
		if err := g.worked(ctx, tx, fn(ctx, tx)); err != nil {
			return err
		}
		if err := tx.Commit(); err != nil {
			return fmt.Errorf("fence: commit: %w", err)
		}
		return nil
	})
}

// begin gives the transaction a connection that can be destroyed. Stale ones of the pool are passed
// over, as the pool itself would.
func (g *Guard) begin(ctx context.Context) (*sql.Conn, *sql.Tx, error) {
	for try := 1; ; try++ {
		conn, err := g.db.Conn(ctx)
		if err != nil {
			return nil, nil, err
		}
		tx, err := conn.BeginTx(ctx, nil)
		if err == nil {
			return conn, tx, nil
		}
		_ = conn.Close()
		if !errors.Is(err, sqldriver.ErrBadConn) || try == maxTries {
			return nil, nil, err
		}
	}
}

// TxPgx is [Guard.Tx] for a guard with a pgx pool.
func (g *Guard) TxPgx(ctx context.Context, fn func(ctx context.Context, tx pgx.Tx) error, resources ...string) error {
	if g.err == nil && g.pool == nil {
		return errors.New("fence: TxPgx: the guard has no pgx pool: use Tx")
	}
	return g.repeat(ctx, func() error {
		tx, err := g.pool.Begin(ctx)
		if err != nil {
			return fmt.Errorf("fence: begin: %w", err)
		}
		defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // after a commit there is nothing to roll back
		if err := g.CheckPgx(ctx, tx, resources...); err != nil {
			return err
		}
		if err := fn(ctx, tx); err != nil {
			return g.Explain(err)
		}
		if err := tx.Commit(ctx); err != nil {
			return fmt.Errorf("fence: commit: %w", err)
		}
		return nil
	})
}

// repeat runs once until it succeeds, or fails otherwise than by being undone.
func (g *Guard) repeat(ctx context.Context, once func() error) error {
	if g.err != nil {
		return g.err
	}
	step := firstPause
	for try := 1; ; try++ {
		err := once()
		if err != nil && !errors.Is(err, ErrRetry) && g.dialect.again(err) {
			err = retry(err)
		}
		if err == nil || !errors.Is(err, ErrRetry) || try == maxTries || !pause(ctx, step) {
			return err
		}
		step = min(2*step, longPause)
	}
}

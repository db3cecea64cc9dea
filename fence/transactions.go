package fence

import (
	"context"
	"database/sql"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/internal/bounded"
)

// transactions is a function that runs work in a new READ COMMITTED transaction, in which each statement sees what was
// committed before that statement.
type transactions func(ctx context.Context, work func(q querier) error) error

func pgxTransactions(pool *pgxpool.Pool) transactions {
	return func(ctx context.Context, work func(querier) error) error {
		return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
			return work(pgxQuerier{conn: tx})
		})
	}
}

var readCommitted = &sql.TxOptions{Isolation: sql.LevelReadCommitted}

func sqlTransactions(db *sql.DB, deaf bool) transactions {
	if deaf {
		return boundedTransactions(db)
	}
	return func(ctx context.Context, work func(querier) error) error {
		tx, err := db.BeginTx(ctx, readCommitted)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if err := work(sqlQuerier{conn: tx}); err != nil {
			return err
		}
		return tx.Commit()
	}
}

// boundedTransactions returns a function that stops waiting when ctx ends, even if the driver ignores ctx. A connection
// goes back to the pool only after its transaction has ended.
func boundedTransactions(db *sql.DB) transactions {
	return func(ctx context.Context, work func(querier) error) error {
		tx, err := bounded.Do(ctx, func() (*sql.Tx, error) { return db.BeginTx(ctx, readCommitted) }, func(tx *sql.Tx) { _ = tx.Rollback() })
		if err != nil {
			return err
		}
		if err := work(boundedQuerier{tx}); err != nil {
			_ = bounded.Run(ctx, tx.Rollback) // the result is not needed, because database/sql also rolls back when ctx ends
			return err
		}
		return bounded.Run(ctx, tx.Commit)
	}
}

// querier returns a querier on a transaction that g itself has begun.
func (g *Guard) querier(tx *sql.Tx) querier {
	if g.deaf {
		return boundedQuerier{tx}
	}
	return sqlQuerier{conn: tx}
}

// boundedQuerier is a sqlQuerier for drivers that may ignore a context.
type boundedQuerier struct{ tx *sql.Tx }

func (q boundedQuerier) query(ctx context.Context, statement string, args []any, read func(answer) error) error {
	return bounded.Query(ctx, func(feed func(answer) error) error {
		rows, err := q.tx.QueryContext(ctx, statement, args...)
		if err != nil {
			return err
		}
		defer rows.Close()
		if err := feed(rows); err != nil {
			return err
		}
		return rows.Err()
	}, read)
}

func (q boundedQuerier) row(ctx context.Context, statement string, args []any, dest ...any) (found bool, err error) {
	err = q.query(ctx, statement, args, func(rows answer) error {
		found, err = one(rows, dest)
		return err
	})
	return found, err
}

func (q boundedQuerier) each(ctx context.Context, statement string, args []any, scan func(row) error) error {
	return q.query(ctx, statement, args, func(rows answer) error { return every(rows, scan) })
}

func (q boundedQuerier) exec(ctx context.Context, statement string, args ...any) error {
	return bounded.Run(ctx, func() error { return sqlQuerier{conn: q.tx}.exec(ctx, statement, args...) })
}

func (q boundedQuerier) change(ctx context.Context, statement string, args ...any) (int64, error) {
	return bounded.Do(ctx, func() (int64, error) { return sqlQuerier{conn: q.tx}.change(ctx, statement, args...) }, func(int64) {})
}

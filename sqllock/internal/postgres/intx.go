package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// adoptLimit bounds the statements that InTx runs outside the caller's transaction if the server has changed. Without
// a limit they could wait forever for a free connection of the pool.
const adoptLimit = time.Second

// oldSnapshot means that the transaction has an isolation level at which its snapshot begins with the first attempt, and
// not with the lock. Then it would not see what the last holder has committed meanwhile.
const oldSnapshot sqlbase.Verdict = "snapshot"

var errOldSnapshot = errors.New("its snapshot may be older than the writes of the last holder: begin the transaction with the isolation level READ COMMITTED")

func (p *Backend) LockInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) error {
	a, err := sqlbase.Settle(ctx,
		func() (sqlbase.Answer, error) { return p.askInTx(ctx, tx, key) },
		map[sqlbase.Verdict]func() error{
			sqlbase.OtherEpoch: func() error { return p.adoptOutside(ctx, key) },
			oldSnapshot:        func() error { return driver.Permanent(errOldSnapshot) },
		})
	if err != nil {
		return p.classify(ctx, "lock in the transaction", key, err)
	}
	if a.Verdict != sqlbase.Locked {
		return a.Held()
	}
	return nil
}

// askInTx makes one attempt in the caller's transaction. It does not retry after an error, because the error has
// aborted the transaction.
func (p *Backend) askInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	var a sqlbase.Answer
	found, err := sqlbase.QueryOne(ctx, tx, p.sql["lock_in_tx"], p.args([]any{key.Namespace, key.Name}), append(a.Dest(), &a.Readers)...)
	switch {
	case err != nil:
		return a, err
	case !found:
		return a, sqlbase.MetaMissing(p.table)
	case a.Verdict == sqlbase.Missing:
		return p.createInTx(ctx, tx, key)
	default:
		return a, nil
	}
}

// createInTx inserts the missing row of a lock. The insert also locks the row. After an error, createInTx rolls back
// to a savepoint, which also restores lock_timeout.
func (p *Backend) createInTx(ctx context.Context, tx sqlbase.Querier, key driver.Key) (sqlbase.Answer, error) {
	if _, err := tx.Exec(ctx, "SAVEPOINT rowlock_in_tx", p.args(nil)...); err != nil {
		return sqlbase.Answer{}, err
	}
	created, before := false, ""
	_, err := sqlbase.QueryOne(ctx, tx, p.sql["create_in_tx"], p.args([]any{key.Namespace, key.Name}), &created, &before)
	if err == nil && created {
		if _, err = sqlbase.QueryOne(ctx, tx, p.sql["restore_lock_timeout"], p.args([]any{before}), new(string)); err == nil {
			_, err = tx.Exec(ctx, "RELEASE SAVEPOINT rowlock_in_tx", p.args(nil)...)
		}
		return sqlbase.Answer{Verdict: sqlbase.Locked}, err
	}
	for _, undo := range []string{"ROLLBACK TO SAVEPOINT rowlock_in_tx", "RELEASE SAVEPOINT rowlock_in_tx"} {
		if _, undone := tx.Exec(ctx, undo, p.args(nil)...); undone != nil {
			return sqlbase.Answer{}, oneline.Join(err, undone)
		}
	}
	if err == nil || transient(err) {
		return sqlbase.Answer{Verdict: sqlbase.Contended}, nil
	}
	return sqlbase.Answer{}, err
}

// adoptOutside stores the identity of the new server in the meta row, which begins the quarantine. It uses a separate
// transaction, because the quarantine must remain even if the caller rolls back its own transaction.
func (p *Backend) adoptOutside(ctx context.Context, key driver.Key) error {
	bounded, cancel := context.WithTimeout(ctx, adoptLimit)
	defer cancel()
	if err := p.adopt(bounded); err != nil {
		return driver.NotApplied(p.classify(bounded, "adopt the new server for", key, err))
	}
	return nil
}

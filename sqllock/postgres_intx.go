package sqllock

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// adoptLimit bounds what an InTx that meets a new server does outside of the caller's transaction:
// the pool may have no second connection.
const adoptLimit = time.Second

func (p *postgres) lockInTx(ctx context.Context, tx querier, key driver.Key) error {
	a, err := settle(ctx,
		func() (answer, error) { return p.askInTx(ctx, tx, key) },
		map[verdict]func() error{vEpoch: func() error { return p.adoptOutside(ctx, key) }})
	if err != nil {
		return p.classify(ctx, "lock in the transaction", key, err)
	}
	if a.verdict != vLocked {
		return a.held()
	}
	return nil
}

// askInTx makes one attempt inside the caller's transaction, which it never repeats after an error:
// the transaction is over then.
func (p *postgres) askInTx(ctx context.Context, tx querier, key driver.Key) (answer, error) {
	var a answer
	found, err := queryOne(ctx, tx, p.sql["lock_in_tx"], p.args([]any{key.Namespace, key.Name}), a.dest()...)
	switch {
	case err != nil:
		return a, err
	case !found:
		return a, metaMissing(p.table)
	case a.verdict == vMissing:
		return p.createInTx(ctx, tx, key)
	default:
		return a, nil
	}
}

// createInTx inserts the row of a lock that has none, which locks it as well. What goes wrong is
// undone to a savepoint, and with it the lock_timeout.
func (p *postgres) createInTx(ctx context.Context, tx querier, key driver.Key) (answer, error) {
	if _, err := tx.exec(ctx, "SAVEPOINT rowlock_in_tx", p.args(nil)...); err != nil {
		return answer{}, err
	}
	created, before := false, ""
	_, err := queryOne(ctx, tx, p.sql["create_in_tx"], p.args([]any{key.Namespace, key.Name}), &created, &before)
	if err == nil && created {
		if _, err = queryOne(ctx, tx, p.sql["restore_lock_timeout"], p.args([]any{before}), new(string)); err == nil {
			_, err = tx.exec(ctx, "RELEASE SAVEPOINT rowlock_in_tx", p.args(nil)...)
		}
		return answer{verdict: vLocked}, err
	}
	for _, undo := range []string{"ROLLBACK TO SAVEPOINT rowlock_in_tx", "RELEASE SAVEPOINT rowlock_in_tx"} {
		if _, undone := tx.exec(ctx, undo, p.args(nil)...); undone != nil {
			return answer{}, oneline.Join(err, undone)
		}
	}
	if err == nil || transient(err) {
		return answer{verdict: vContended}, nil
	}
	return answer{}, err
}

// adoptOutside begins the quarantine of a new server in a transaction of its own, because the
// caller will roll his back.
func (p *postgres) adoptOutside(ctx context.Context, key driver.Key) error {
	bounded, cancel := context.WithTimeout(ctx, adoptLimit)
	defer cancel()
	if err := p.adopt(bounded); err != nil {
		return driver.NotApplied(p.classify(bounded, "adopt the new server for", key, err))
	}
	return nil
}

package sqllock

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// lockInTx takes the file's write lock, which a transaction that was begun IMMEDIATE has already.
func (s *sqlite) lockInTx(ctx context.Context, tx querier, key driver.Key) error {
	a, err := s.askInTx(ctx, tx, key)
	if sqlerror.SQLite(err) == sqlitefile.CodeBusySnapshot {
		err = driver.NotApplied(errStaleSnapshot)
	} else if sqlitefile.Busy(err) {
		a.verdict, err = vContended, nil
	}
	if err != nil {
		return s.classify(ctx, "lock in the transaction", key, err)
	}
	if a.verdict != vLocked {
		return a.held()
	}
	return nil
}

func (s *sqlite) askInTx(ctx context.Context, tx querier, key driver.Key) (answer, error) {
	restore, err := withBusySlice(ctx, s.db, tx)
	if err != nil {
		return answer{}, err
	}
	var a answer
	args := []any{key.Namespace, key.Name}
	found, err := queryOne(ctx, tx, s.sql["look_in_tx"], args, a.dest()...)
	if err == nil && !found {
		err = metaMissing(s.table)
	}
	if err == nil && a.verdict == vContended {
		_, err = queryOne(ctx, tx, s.sql["lock_in_tx"], args, &a.verdict)
	}
	if failed := restore(); err == nil {
		err = failed
	}
	return a, err
}

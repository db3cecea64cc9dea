package fence

import (
	"context"
	"fmt"
	"time"
)

// MinUnused is the smallest value that [Guard.Prune] accepts. It is far longer than a request may take to reach the
// database.
const MinUnused = 24 * time.Hour

// pruneBatch is the largest number of marks in one transaction of Prune.
const pruneBatch = 250

// Prune deletes the marks of every namespace that were last sealed or reset longer ago than unused.
// It returns how many it deleted. An error ends Prune, and is returned together with that number.
// A mark is kept while a transaction that has checked it is open. It is also kept while the lease that sealed it is
// alive in the lock table next to the fence table. The duration unused is measured by the database's clock, and is at
// least [MinUnused].
//
// After its mark is deleted, a resource is like one that was never sealed: every check fails until the next seal. A
// process may hold a lock of another database or store for longer than the time unused. Its next [Guard.Check] then
// fails with [ErrStale], and the process must seal again. A deleted mark also cannot reject a late seal of an older
// lease. Prune relies on the fact that every seal reaches the database within the time unused: a seal is sent only
// while its lease is trusted. A resource keeps its mark if it is sealed again before the time unused is over.
//
// Prune also deletes outcome rows of [Guard.Tx] whose transactions ended longer ago than unused. These rows are not
// counted. The user needs the privileges to delete from the fence table and the outcome table, and to read the lock
// table: see package migrations. Each transaction deletes up to 250 marks, takes half a minute at most, and ends when
// ctx ends. If a table is missing, the error is a [*SchemaError].
func (g *Guard) Prune(ctx context.Context, unused time.Duration) (int, error) {
	if g.err != nil {
		return 0, g.err
	}
	if unused < MinUnused {
		return 0, fmt.Errorf("fence: prune: unused is %s: want %s or more", unused, MinUnused)
	}
	total := 0
	for last := (Mark{}); ; {
		var batch []Mark
		err := g.operate(ctx, "prune", func(ctx context.Context, q querier) (err error) {
			batch, err = g.dialect.forget(ctx, q, unused, last)
			return err
		})
		if err != nil {
			return total, err
		}
		total += len(batch)
		if len(batch) < pruneBatch {
			break
		}
		last = batch[len(batch)-1]
	}
	_, err := g.pruneOutcomes(ctx, unused)
	return total, err
}

// forget deletes and returns the next unused marks after last.
func (m marks) forget(ctx context.Context, q querier, unused time.Duration, last Mark) ([]Mark, error) {
	namespace := m.encode(last.Namespace)
	batch, err := m.scan(ctx, q, "unused", unused.Microseconds(), namespace, namespace, m.encode(last.Resource), int64(pruneBatch))
	if err != nil {
		return nil, err
	}
	for _, old := range batch {
		if err := q.exec(ctx, m.sql["forget"], m.name(old.Namespace, old.Resource)...); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

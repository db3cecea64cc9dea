package fence

import (
	"context"
	"fmt"
	"time"
)

// MinUnused is the least that [Guard.Prune] takes: far more than a request that was sent may need to
// arrive.
const MinUnused = 24 * time.Hour

// pruneBatch bounds one transaction of Prune.
const pruneBatch = 250

// Prune forgets the marks of every namespace that were sealed, or reset, longer ago than unused, and
// reports how many: also after an error, which ends it. A mark stays while a transaction that has
// checked it is open, and while the lease that sealed it is alive in the lock table beside the fence
// table. unused is at least [MinUnused], by the database's clock.
//
// A forgotten mark refuses everybody, as one that was never sealed does, until the next seal. So
// whoever holds a lock of another database or store for longer than unused gets [ErrStale] at its
// next [Guard.Check], and must seal again. And the mark refuses no late seal any more: Prune relies
// on it that a request to seal, which is sent while its lease is trusted, does not arrive so long
// after. Resources that are sealed more often than unused keep their marks.
//
// It also forgets what [Guard.Tx] has noted of transactions that ended longer ago than unused;
// those do not count. It needs the privilege to delete from both tables and to read the lock table:
// see package migrations. It runs one transaction for 250 marks, each of which ends with ctx, and
// after half a minute. A missing table is a [*SchemaError].
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

// forget deletes the next marks behind last that are unused, and returns them.
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

package mysql

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// While locks are acquired and released, Prune deletes no live lease, and the tokens of each lock rise. A token is
// larger than the clock in microseconds and larger than the stored floor. The test sets the floor above the clock,
// because tokens that come from the clock would hide an error in the floor.
func TestMySQLPruneRacesAcquire(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) { pruneRacesAcquire(t, f, 20) })
}

// The same with more rounds.
func TestCompatMySQLPruneRacesAcquire(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) { pruneRacesAcquire(t, f, 60) })
}

func pruneRacesAcquire(t *testing.T, f *fixture, rounds int) {
	t.Helper()
	for _, level := range isolations {
		f.Exec(t, "UPDATE rowlock_lease_meta SET floor = 9000000000000000 + 1000000 * ?", len(level))
		stress(t, on(f.open(t, f.isolation(level))), level, rounds)
	}
}

func stress(t *testing.T, b *Backend, level string, rounds int) {
	const workers, names = 4, 3
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute) // a long time-out, because this test sends many statements while other tests run
	defer cancel()
	pruning, stop := context.WithCancel(ctx)
	var pruner, holders sync.WaitGroup
	forgotten := 0
	pruner.Go(func() {
		for pruning.Err() == nil {
			n, err := b.Prune(ctx, 0)
			assert.NoError(t, err, level)
			forgotten += n
		}
	})
	var mu sync.Mutex
	last, grants := map[string]driver.Token{}, 0
	for w := range workers {
		holders.Go(func() {
			for i := range rounds {
				name := fmt.Sprintf("%s %d", level, (w+i)%names)
				g, err := b.Acquire(ctx, request(name))
				var held *driver.Held
				if errors.As(err, &held) {
					continue
				}
				if !assert.NoError(t, err, level) {
					return
				}
				mu.Lock()
				assert.Greater(t, g.Token, last[name], "%s: tokens rise", level)
				last[name] = g.Token
				grants++
				mu.Unlock()
				outcomes, err := b.Renew(ctx, []driver.Grant{g})
				assert.NoError(t, err, level)
				if assert.Len(t, outcomes, 1) {
					assert.NotEqual(t, driver.Lost, outcomes[0], "%s: a live lease vanished", level)
				}
				assert.NoError(t, b.Release(ctx, g), level)
			}
		})
	}
	holders.Wait()
	stop()
	pruner.Wait()
	assert.Positive(t, forgotten, level)
	assert.Greater(t, grants, rounds, level)
}

// Prune does not delete a row that another transaction has locked, and does not wait for that row. Prune does not
// delete a row that was used too recently.
func TestMySQLPruneLeavesWhatIsInUse(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		mustAcquire(t, f, request("held"))
		for _, name := range []string{"a", "free"} {
			require.NoError(t, f.Release(limited(t), mustAcquire(t, f, request(name))))
		}
		n, err := f.Prune(limited(t), time.Hour)
		require.NoError(t, err)
		assert.Zero(t, n)
		f.whileLocked(t, lockRow, func() {
			atOnce(t, func() {
				n, err := f.Prune(limited(t), 0)
				require.NoError(t, err)
				assert.Equal(t, 1, n)
			})
		})
		list, err := f.List(limited(t), "", false)
		require.NoError(t, err)
		require.Len(t, list, 2)
		assert.Equal(t, "a", list[0].Key.Name)
		assert.Equal(t, "held", list[1].Key.Name)
	})
}

// If there are more rows than one statement deletes, Prune deletes them in batches, in every namespace.
func TestMySQLPrunesMoreThanOneBatch(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		const n = 2*pruneBatch + 5
		f.fill(t, n)
		f.Exec(t, "UPDATE rowlock_lease SET nonce = NULL, token = 77, expires_at = UTC_TIMESTAMP(6) - INTERVAL 1 SECOND, held_until = expires_at, namespace = IF(name < '00000200', '', 'full')")
		got, err := f.Prune(limited(t), 0)
		require.NoError(t, err)
		assert.Equal(t, n, got)
		assert.EqualValues(t, 77, f.int(t, "SELECT floor FROM rowlock_lease_meta"))
	})
}

// Prune sends only the query for unused rows if there are none: it neither locks nor writes the floor.
func TestMySQLPruneOfNothingOnlyReads(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		db := f.open(t, nil)
		db.SetMaxOpenConns(1)
		b := on(db)
		_, err := b.Prune(limited(t), 0) // this call detects the server and prepares the statement, which must not be counted
		require.NoError(t, err)
		before := executed(t, db)
		n, err := b.Prune(limited(t), 0)
		require.NoError(t, err)
		assert.Zero(t, n)
		assert.Equal(t, 1, executed(t, db)-before)
	})
}

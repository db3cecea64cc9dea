package mysql

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// If another transaction has locked the row, Acquire is refused as contended at once, at every isolation level. When
// that transaction ends, the lock can be acquired.
func TestMySQLAcquireWaitsForNobody(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		require.NoError(t, f.Release(limited(t), mustAcquire(t, f, request("a"))))
		for _, level := range isolations {
			b := on(f.open(t, f.isolation(level)))
			for _, statement := range []string{
				lockRow,
				"DELETE FROM rowlock_lease WHERE namespace = '' AND name = 'a'",
				"UPDATE rowlock_lease SET note = 'x' WHERE namespace = '' AND name = 'a'",
			} {
				for _, waiting := range []bool{false, true} {
					f.whileLocked(t, statement, func() {
						atOnce(t, func() {
							r := request("a")
							r.Waiting = waiting
							_, err := b.Acquire(limited(t), r)
							requireHeld(t, err, driver.Contended)
						})
					})
				}
			}
			require.NoError(t, b.Release(limited(t), mustAcquire(t, b, request("a"))), level)
		}
	})
}

// A refused acquire reports the holder even while another transaction has locked the row.
func TestMySQLTellsTheHolderOfALockedRow(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		f.whileLocked(t, lockRow, func() {
			atOnce(t, func() {
				_, err := f.Acquire(limited(t), request("a"))
				held := requireHeld(t, err, driver.Leased)
				assert.Equal(t, "host:1", held.Holder)
				assert.Equal(t, g.Token, held.Token)
			})
		})
	})
}

// The renewal of a locked row has an unknown outcome. It does not delay the other renewals of its batch.
func TestMySQLRenewLeavesLockedRowsOut(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		a, b := mustAcquire(t, f, request("a")), mustAcquire(t, f, request("b"))
		gone := a
		gone.Key.Name = "gone"
		for _, level := range isolations {
			renewer := on(f.open(t, f.isolation(level)))
			f.whileLocked(t, lockRow, func() {
				atOnce(t, func() {
					got, err := renewer.Renew(limited(t), []driver.Grant{a, gone, b})
					require.NoError(t, err)
					assert.Equal(t, []driver.Outcome{driver.Unknown, driver.Lost, driver.Renewed}, got, level)
				})
			})
			got, err := renewer.Renew(limited(t), []driver.Grant{a, gone, b})
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Lost, driver.Renewed}, got, level)
		}
	})
}

// If another transaction has locked the row, Release, ForceRelease and Pause return within a bounded time, and report
// that they had no effect.
func TestMySQLReleaseOfALockedRowIsBounded(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		g := mustAcquire(t, f, request("a"))
		f.whileLocked(t, lockRow, func() {
			for verb, end := range map[string]func() error{
				"release": func() error { return f.Release(limited(t), g) },
				"force":   func() error { return f.ForceRelease(limited(t), g.Key, g.Token, true) },
				"pause":   func() error { return f.Pause(limited(t), g, driver.NewNonce()) },
			} {
				start := time.Now()
				err := end()
				require.Error(t, err)
				require.NotErrorIs(t, err, driver.ErrNotHeld)
				assert.True(t, driver.IsNotApplied(err), "%s: %v", verb, err)
				assert.False(t, driver.IsPermanent(err), "%s: %v", verb, err)
				assert.Less(t, time.Since(start), 10*patience)
			}
		})
		require.NoError(t, f.Release(limited(t), g))
	})
}

// If another transaction has locked a range of rows, the first acquire of a name in that range returns when its ctx
// ends. If the server grants the abandoned request afterwards, the lease ends no later than requested.
func TestMySQLFirstGrantInALockedRangeEndsWithItsContext(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		f.whileLocked(t, "SELECT token FROM rowlock_lease FOR UPDATE", func() {
			ctx, cancel := contextFor(time.Second)
			defer cancel()
			start := time.Now()
			r := request("a")
			_, err := f.Acquire(ctx, r)
			require.Error(t, err)
			assert.Less(t, time.Since(start), 10*time.Second)
		})
	})
}

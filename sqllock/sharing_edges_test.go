package sqllock_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock"
)

// leftBehind acquires a share of name and makes it expire, together with the note of a writer that waited. The row then
// contains both, because an expiry writes nothing.
func leftBehind(t *testing.T, s *store, b *sqllock.Backend, name string) driver.Grant {
	t.Helper()
	g := share(t, b, reading(name))
	writer := request(name)
	writer.Waits = true
	refused(t, b, writer)
	past := "'1970-01-01 00:00:00'"
	if s.oneFile {
		past = "0"
	}
	s.exec(t, fmt.Sprintf(`UPDATE rowlock_lease SET expires_at = %s, held_until = %s, writer_until = %s, readers = '{"%s": 1}' WHERE name = '%s'`,
		past, past, past, g.Nonce, name))
	return g
}

// A transaction that has locked a name with InTx excludes readers, and readers exclude InTx. This is so for a name
// that was never locked, for a free name, and for a name whose readers have all expired.
func TestInTxExcludesReaders(t *testing.T) {
	before := map[string]func(*testing.T, *store, *sqllock.Backend){
		"new": func(*testing.T, *store, *sqllock.Backend) {},
		"free": func(t *testing.T, _ *store, b *sqllock.Backend) {
			require.NoError(t, b.Release(t.Context(), share(t, b, reading("job"))))
		},
		"expired readers": func(t *testing.T, s *store, b *sqllock.Backend) { leftBehind(t, s, b, "job") },
	}
	for state, prepare := range before {
		t.Run(state, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, s *store) {
				a, b := s.open(), s.open()
				prepare(t, s, a)
				tx := s.begin(t)
				require.NoError(t, a.InTx(t.Context(), tx, "job"))
				for _, waits := range []bool{false, true} {
					for _, by := range []*sqllock.Backend{a, b} {
						r := reading("job")
						r.Waits, r.Waiting = waits, waits
						start := time.Now()
						assert.Equal(t, driver.Contended, refused(t, by, r).Reason)
						assert.Less(t, time.Since(start), atOnce)
					}
				}
				require.NoError(t, tx.Commit())

				one, two := share(t, a, reading("job")), share(t, b, reading("job"))
				assert.Equal(t, one.Token, two.Token)
				for _, g := range []driver.Grant{one, two} {
					tx := s.begin(t)
					h := held(t, b.InTx(t.Context(), tx, "job"))
					assert.Equal(t, driver.Leased, h.Reason)
					assert.Equal(t, one.Token, h.Token)
					require.NoError(t, tx.Rollback())
					require.NoError(t, a.Release(t.Context(), g))
				}
				tx = s.begin(t)
				require.NoError(t, b.InTx(t.Context(), tx, "job"))
				assert.Equal(t, driver.Contended, refused(t, a, reading("job")).Reason)
			})
		})
	}
}

// A refusal says how many readers hold the lock, whichever call is refused.
func TestEachRefusalCountsTheReaders(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		a, b := s.open(), s.open()
		g := share(t, a, reading("job"))
		share(t, b, reading("job"))
		assert.Equal(t, 2, refused(t, b, request("job")).Readers)
		h := held(t, b.ForceRelease(t.Context(), g.Key, g.Token, false))
		assert.Equal(t, driver.Leased, h.Reason)
		assert.Equal(t, 2, h.Readers, "a forced release")
		tx := s.begin(t)
		assert.Equal(t, 2, held(t, b.InTx(t.Context(), tx, "job")).Readers, "InTx")
		require.NoError(t, tx.Rollback())
		require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, true))
	})
}

// After an exclusive grant of any kind, the row contains no shares and no note of a writer, so no reader takes it for a
// shared lock. The same is so after a pause and after a forced release.
func TestAnExclusiveGrantForgetsTheReaders(t *testing.T) {
	kinds := map[string]func(*testing.T, *store, *sqllock.Backend, driver.Grant){
		"acquire": func(t *testing.T, _ *store, b *sqllock.Backend, _ driver.Grant) { acquire(t, b, request("job")) },
		"sealing acquire": func(t *testing.T, _ *store, b *sqllock.Backend, _ driver.Grant) {
			r := request("job")
			r.Seal = "here"
			_, err := b.Acquire(t.Context(), r)
			require.NoError(t, err)
		},
		"waiting acquire": func(t *testing.T, _ *store, b *sqllock.Backend, _ driver.Grant) {
			r := waiting("job")
			t.Cleanup(func() { closeIdle(b) })
			waitFor(t, b, r.Key)
			acquire(t, b, r)
		},
		"reserved acquire": func(t *testing.T, s *store, b *sqllock.Backend, _ driver.Grant) {
			g := share(t, b, reading("job"))
			other := s.open()
			r := waiting("job")
			t.Cleanup(func() { closeIdle(other) })
			waitFor(t, other, r.Key)
			r.Waits = true
			refused(t, other, r)
			require.NoError(t, b.Release(t.Context(), g))
			require.EqualValues(t, 1, s.int(t, "SELECT count(reserved_for) FROM rowlock_lease"))
			acquire(t, other, r)
		},
		"hand-over": func(t *testing.T, _ *store, b *sqllock.Backend, _ driver.Grant) {
			_, err := b.HandOver(t.Context(), acquire(t, b, request("job")), request("job"))
			require.NoError(t, err)
		},
		"pause": func(t *testing.T, _ *store, b *sqllock.Backend, _ driver.Grant) {
			require.NoError(t, b.Pause(t.Context(), acquire(t, b, request("job")), driver.NewNonce()))
		},
		"forced release": func(t *testing.T, _ *store, b *sqllock.Backend, g driver.Grant) {
			require.NoError(t, b.ForceRelease(t.Context(), g.Key, g.Token, false))
		},
		"transaction": func(t *testing.T, s *store, b *sqllock.Backend, _ driver.Grant) {
			tx := s.begin(t)
			require.NoError(t, b.InTx(t.Context(), tx, "job"))
			require.NoError(t, tx.Commit())
			acquire(t, b, request("job"))
		},
		"prune": func(t *testing.T, s *store, b *sqllock.Backend, _ driver.Grant) {
			n, err := b.Prune(t.Context(), 0)
			require.NoError(t, err)
			require.Equal(t, 1, n)
			acquire(t, b, request("job"))
		},
	}
	for kind, grant := range kinds {
		t.Run(kind, func(t *testing.T) {
			eachBackend(t, func(t *testing.T, s *store) {
				b := s.open()
				g := leftBehind(t, s, b, "job")
				grant(t, s, b, g)
				assert.Zero(t, s.int(t, "SELECT count(readers) + count(writer_until) FROM rowlock_lease"))
				if kind != "forced release" {
					h := refused(t, b, reading("job"))
					assert.Contains(t, []driver.Reason{driver.Leased, driver.Paused}, h.Reason)
					assert.Zero(t, h.Readers)
				}
				assert.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, g))
				require.ErrorIs(t, b.Release(t.Context(), g), driver.ErrNotHeld)
			})
		})
	}
}

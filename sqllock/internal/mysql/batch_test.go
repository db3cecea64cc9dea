package mysql

import (
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// One statement grants several locks, and one statement releases them. The grants are those of single requests: each
// can be renewed, its token is larger than each earlier token of its name, and a repeated request returns it again.
func TestMySQLABatchGrantsAndReleases(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "b", "c")
		for i := range all {
			all[i].MinHold = time.Hour
		}
		f.known(t, all)
		for _, level := range isolations {
			f.Exec(t, "UPDATE rowlock_lease SET held_until = '1970-01-01'")
			for i := range all {
				all[i].Nonce = driver.NewNonce()
			}
			b := on(f.open(t, f.strict(level)))
			grants := together(t, b, all)
			for i, r := range all {
				assert.Equal(t, grants[i], mustAcquire(t, f, r), "asked again")
				_, err := f.Acquire(limited(t), request(r.Key.Name))
				held := requireHeld(t, err, driver.Leased)
				assert.Equal(t, "host:1", held.Holder)
				assert.Equal(t, "a test", held.Note)
				assert.Equal(t, grants[i].Token, held.Token)
				assert.Greater(t, held.ExpiresIn, 50*time.Minute)
			}
			outcomes, err := b.Renew(limited(t), grants)
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Renewed, driver.Renewed}, outcomes)
			for _, err := range b.ReleaseEach(limited(t), grants) {
				require.NoError(t, err)
			}
			alone(t, b.ReleaseEach(limited(t), grants), "released before")
			for _, g := range grants {
				require.NoError(t, f.Release(limited(t), g), "released before")
				_, err = f.Acquire(limited(t), request(g.Key.Name))
				requireHeld(t, err, driver.MinHold)
			}
			f.Exec(t, "UPDATE rowlock_lease SET held_until = '1970-01-01'")
			for _, g := range grants {
				next := mustAcquire(t, f, request(g.Key.Name))
				assert.Greater(t, next.Token, g.Token)
				require.NoError(t, f.Release(limited(t), next))
			}
		}
	})
}

// A batch does not grant a lock that is held, or that needs more than a simple grant. It waits for no other transaction.
// On MySQL it then grants none of the locks. On MariaDB it may grant the others, and reports which ones.
func TestMySQLABatchLeavesOut(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "b", "c")
		f.known(t, all[:2])
		refused := func(why string, holds bool) {
			t.Helper()
			for _, level := range isolations {
				b := on(f.open(t, f.strict(level)))
				mustReleased(t, b, request("x"))
				atOnce(t, func() {
					grants, errs := b.AcquireEach(limited(t), all)
					if holds {
						requireHeld(t, errs[2], driver.Leased)
					} else {
						require.ErrorIs(t, errs[2], errAlone, why)
					}
					for i, g := range grants[:2] {
						if errs[i] == nil {
							require.True(t, f.mariadb, why)
							require.NoError(t, b.Release(limited(t), g), why)
						} else {
							require.ErrorIs(t, errs[i], errAlone, why)
						}
					}
				})
			}
			assert.Zero(t, f.int(t, "SELECT COUNT(*) FROM rowlock_lease WHERE name < 'c' AND nonce IS NOT NULL"), why)
		}
		refused("a missing row", false)
		holder := mustAcquire(t, f, request("c"))
		refused("a name that is held", true)
		require.NoError(t, f.Release(limited(t), holder))

		f.whileLocked(t, "SELECT token FROM rowlock_lease WHERE namespace = '' AND name = 'c' FOR UPDATE", func() { refused("a locked row", false) })
		for change, undo := range map[string]string{
			"done = 'tick'":              "done = NULL",
			"token = token + 3600000000": "token = token - 3600000000",
		} {
			f.Exec(t, "UPDATE rowlock_lease SET "+change+" WHERE name = 'c'")
			refused(change, false)
			f.Exec(t, "UPDATE rowlock_lease SET "+undo+" WHERE name = 'c'")
		}
		for _, err := range f.ReleaseEach(limited(t), together(t, f.Backend, all)) {
			require.NoError(t, err)
		}
		shared := slices.Clone(all)
		shared[1].Shared = true
		_, errs := f.AcquireEach(limited(t), shared)
		alone(t, errs, "a share")
		_, errs = f.AcquireEach(limited(t), requests("a", "b", "c", "d", "e", "f", "g", "h", "i"))
		alone(t, errs, "too many names")
		f.Exec(t, "UPDATE rowlock_lease_meta SET floor = floor + 10000000000000000")
		f.meta.Store(nil)
		refused("a floor above the clock", false)
	})
}

// After a change of the server, a batch grants nothing, even if its process has read the meta row before.
func TestMySQLABatchGrantsNothingOnAnotherServer(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "b")
		f.known(t, all)
		seen := *f.meta.Load()
		seen.epoch = "another"
		f.meta.Store(&seen)
		_, errs := f.AcquireEach(limited(t), all)
		alone(t, errs, "the identity differs")
		f.meta.Store(nil)
		f.Exec(t, "UPDATE rowlock_lease_meta SET quarantined_until = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR")
		_, errs = f.AcquireEach(limited(t), all)
		alone(t, errs, "quarantine")
	})
}

// A batch ends only the grants that it names. It ends no grant for whose lock a process waits, because that process must
// be woken.
func TestMySQLABatchReleasesOnlyItsGrants(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "b", "c")
		f.known(t, all)
		kept := func(why string, change func(*driver.Grant), during func(release func())) {
			t.Helper()
			for i := range all {
				all[i].Nonce = driver.NewNonce()
			}
			grants := together(t, f.Backend, all)
			others := slices.Clone(grants)
			change(&others[0])
			during(func() { atOnce(t, func() { alone(t, f.ReleaseEach(limited(t), others), why) }) })
			outcomes, err := f.Renew(limited(t), grants[:1])
			require.NoError(t, err)
			assert.Equal(t, []driver.Outcome{driver.Renewed}, outcomes, why)
			for _, g := range grants {
				require.NoError(t, f.Release(limited(t), g), why)
			}
		}
		for why, change := range map[string]func(*driver.Grant){
			"another nonce": func(g *driver.Grant) { g.Nonce = driver.NewNonce() },
			"another token": func(g *driver.Grant) { g.Token++ },
			"no token":      func(g *driver.Grant) { g.Token = 0 },
			"a tick":        func(g *driver.Grant) { g.Done = "tick" },
			"another name":  func(g *driver.Grant) { g.Key.Name = "d" },
		} {
			kept(why, change, func(release func()) { release() })
		}
		same := func(*driver.Grant) {}
		kept("a locked row", same, func(release func()) { f.whileLocked(t, lockRow, release) })
		kept("a waiter", same, func(release func()) {
			waits(t, on(f.open(t, nil)), request("a"))
			f.seen(t)
			release()
		})
	})
}

// A statement for several locks finds the rows by the primary key, even in a table of few rows: it does not read the
// rows between them, which are locked.
func TestMySQLABatchUsesThePrimaryKey(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "c", "e")
		f.known(t, requests("a", "b", "c", "d", "e"))
		f.whileLocked(t, "SELECT token FROM rowlock_lease WHERE namespace = '' AND name IN ('b', 'd') FOR UPDATE", func() {
			for _, err := range f.ReleaseEach(limited(t), together(t, f.Backend, all)) {
				require.NoError(t, err)
			}
		})
	})
}

// A process of the queue that has missed its reservation delays no batch of grants. It then counts as waiting for 12
// seconds less, as after a single grant. A dead process delays no batch of releases for long, because a single release
// removes it from the queue.
func TestMySQLADeadWaiterDelaysNoBatch(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "b")
		f.known(t, all)
		waiter := driver.NewNonce().String()
		f.Exec(t, "UPDATE rowlock_lease SET waiters = ?, next_until = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE name = 'a'", waiter)
		seen := func() int64 {
			return f.int(t, "SELECT TIMESTAMPDIFF(SECOND, '1970-01-01', next_until) FROM rowlock_lease WHERE name = 'a' AND waiters = ?", waiter)
		}
		before := seen()
		grants := together(t, f.Backend, all)
		assert.Equal(t, before-12, seen())
		alone(t, f.ReleaseEach(limited(t), grants), "a process may wait")
		f.Exec(t, "UPDATE rowlock_lease SET next_until = UTC_TIMESTAMP(6) WHERE name = 'a'")
		require.NoError(t, f.Release(limited(t), grants[0]))
		require.NoError(t, f.Release(limited(t), grants[1])) // MariaDB has released it before
		require.Eventually(t, func() bool { return f.int(t, "SELECT COUNT(waiters) FROM rowlock_lease") == 0 }, 20*time.Second, time.Millisecond)
		all[0].Nonce, all[1].Nonce = driver.NewNonce(), driver.NewNonce()
		for _, err := range f.ReleaseEach(limited(t), together(t, f.Backend, all)) {
			require.NoError(t, err)
		}
		assert.Equal(t, int64(0), f.int(t, "SELECT COUNT(*) FROM rowlock_lease WHERE nonce IS NOT NULL OR held_until > UTC_TIMESTAMP(6)"))
	})
}

// A grant of a batch deletes the expired shares of readers and the reservation of a writer, as a single grant does.
func TestMySQLABatchEndsExpiredShares(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		all := requests("a", "b")
		f.known(t, all)
		mustAcquire(t, f, reading("a"))
		f.Exec(t, `UPDATE rowlock_lease SET readers = JSON_OBJECT('x', 1), held_until = '1970-01-01', writer_until = UTC_TIMESTAMP(6) + INTERVAL 1 HOUR WHERE name = 'a'`)
		together(t, f.Backend, all)
		assert.EqualValues(t, 2, f.int(t, "SELECT COUNT(*) FROM rowlock_lease WHERE readers IS NULL AND writer_until IS NULL AND nonce IS NOT NULL"))
	})
}

// Batches of the same names never deadlock with each other or with single requests, and never wait for each other.
func TestMySQLBatchesDoNotDeadlock(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		names := []string{"a", "b", "c"}
		f.known(t, requests(names...))
		holders := map[string]*sync.Mutex{"a": {}, "b": {}, "c": {}}
		var group sync.WaitGroup
		for i := range 4 {
			b := on(f.open(t, nil))
			group.Go(func() {
				for n := range 100 {
					all := requests(names...)
					if i == 3 {
						all = all[n%3:][:1]
					}
					grants, errs := b.AcquireEach(t.Context(), all)
					var granted []driver.Grant
					for k, err := range errs {
						if err == nil {
							granted = append(granted, grants[k])
							assert.True(t, holders[grants[k].Key.Name].TryLock(), "two holders")
						} else {
							var held *driver.Held
							assert.True(t, errors.Is(err, errAlone) || errors.As(err, &held), "%v", err)
						}
					}
					for _, g := range granted {
						holders[g.Key.Name].Unlock()
						assert.NoError(t, b.Release(t.Context(), g))
					}
				}
			})
		}
		group.Wait()
	})
}

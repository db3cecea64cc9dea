package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// join acquires a further shared lease of name, which readers hold.
func (s *store) join(t *testing.T, name string) *rowlock.Lease {
	t.Helper()
	locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour), rowlock.Shared())
	require.NoError(t, err)
	t.Cleanup(func() { _ = locker.Close() }) // Close returns an error for a lease that was lost
	lease, err := locker.TryAcquire(t.Context(), name)
	require.NoError(t, err)
	return lease
}

// readers returns two shared leases of "r" with one token. An older lease of "r" ends in the store, and its holder does
// not notice.
func (s *store) readers(t *testing.T) (one, two *rowlock.Lease) {
	t.Helper()
	one = s.lease(t, "r", rowlock.Shared())
	two = s.join(t, "r")
	require.Equal(t, one.Token(), two.Token())
	require.NotEqual(t, one.Nonce(), two.Nonce())
	return one, two
}

// writer acquires "r" exclusively, and returns this one lease as both results. If "r" is held, the older lease ends in
// the store, and its holder does not notice.
func (s *store) writer(t *testing.T) (one, same *rowlock.Lease) {
	t.Helper()
	one = s.lease(t, "r")
	return one, one
}

// sides returns two leases of "r" with one token. The first lease seals, and the second lease works.
type sides func(s *store, t *testing.T) (sealer, worker *rowlock.Lease)

var successions = []struct {
	name       string
	old, newer sides
}{
	{"readers then writer", (*store).readers, (*store).writer},
	{"writer then readers", (*store).writer, (*store).readers},
	{"readers then later readers", (*store).readers, (*store).readers},
}

func check(_ *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease) error {
	return s.guard.Check(old.Context(), tx, "r")
}

func checkAndWrite(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease) error {
	t.Helper()
	if err := check(t, s, tx, old); err != nil {
		return err
	}
	return write(t, s, tx, old)
}

// arrivals are the points of the old holder's transaction at which its successor seals and works. The field first has
// the old holder's steps before that point, and the field last has its steps after that point.
var arrivals = []struct {
	name        string
	first, last step
}{
	{"S0", noSteps, checkAndWrite},
	{"S1", check, write},
	{"S2", takeSnapshot, checkAndWrite},
	{"S3", checkAndWrite, noSteps},
}

// At every isolation level of every engine, no stale write commits if readers follow a writer, a writer follows
// readers, or later readers follow readers. The seal of one reader counts for all readers with the same token. The
// snapshot on which the successor works always has the last write before its seal. The successor may come at any point
// of the old holder's transaction.
func TestNoStaleWriteBetweenReadersAndWriters(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		for _, level := range s.scheduled() {
			for _, succession := range successions {
				for _, sch := range arrivals {
					t.Run(fmt.Sprintf("%s/%s/%s", level, succession.name, sch.name), func(t *testing.T) {
						s.exec(t, "DELETE FROM ledger")
						first, old := succession.old(s, t)
						require.NoError(t, s.guard.Seal(t.Context(), first))
						sealer, newer := succession.newer(s, t)
						require.Greater(t, newer.Token(), old.Token())
						require.NoError(t, old.Err(), "the old holder has not noticed")

						tx := s.begin(t, level)
						err := finish(t, s, sealer, newer, tx, sch.first(t, s, tx, old), func() error { return sch.last(t, s, tx, old) })
						assert.False(t, s.violated(t), "the old holder's error: %v", err)
						if sch.name == "S0" && s.name != "sqlite-wal-immediate" { // BEGIN IMMEDIATE makes the seal wait
							require.Error(t, err, "the successor has sealed before the check")
						}
						if err != nil {
							assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrRetry), "%v", err)
						}
						require.ErrorIs(t, s.guard.Tx(old.Context(), func(context.Context, *sql.Tx) error { return nil }, "r"), fence.ErrStale)
					})
				}
			}
		}
	})
}

// orders returns all orders of the steps of two transactions with n steps each, as texts of the letters a and b.
func orders(n int) (all []string) {
	var extend func(order string)
	extend = func(order string) {
		a, b := strings.Count(order, "a"), strings.Count(order, "b")
		if a == n && b == n {
			all = append(all, order)
		}
		if a < n {
			extend(order + "a")
		}
		if b < n {
			extend(order + "b")
		}
	}
	extend("")
	return all
}

// Two readers with one token check, write and commit in every order, at every isolation level of every engine. On
// Postgres, MySQL and MariaDB neither waits for the other. A SQLite file has one writer at a time. On SQLite the
// transaction that begins second waits until the first has ended, so the test runs only two orders.
func TestReadersOfOneEpochDoNotExcludeEachOther(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		one, two := s.readers(t)
		require.NoError(t, s.guard.Seal(t.Context(), one))
		all := orders(3)
		require.Len(t, all, 20)
		if s.dialect == migrations.SQLite {
			all = []string{"aaabbb", "bbbaaa"}
		}
		committed := int64(0)
		for _, level := range s.scheduled() {
			for _, order := range all {
				readers := map[rune]*struct {
					lease *rowlock.Lease
					tx    *sql.Tx
					steps int
				}{'a': {lease: one}, 'b': {lease: two}}
				for _, who := range order {
					r := readers[who]
					r.steps++
					ctx, cancel := context.WithTimeout(r.lease.Context(), waitLimit)
					switch r.steps {
					case 1:
						r.tx = s.begin(t, level)
						require.NoError(t, s.guard.Check(ctx, r.tx, "r"), "%s %s", level, order)
					case 2:
						_, err := r.tx.ExecContext(ctx, "INSERT INTO elsewhere (n) VALUES (1)")
						require.NoError(t, err, "%s %s", level, order)
					case 3:
						require.NoError(t, r.tx.Commit(), "%s %s", level, order)
						committed++
					}
					cancel()
				}
			}
		}
		assert.Equal(t, committed, s.int(t, "SELECT count(*) FROM elsewhere"))
	})
}

// A reader seals without waiting for the open transactions of readers with the same token. On SQLite a checked
// transaction blocks every other writer of the file. So on SQLite the test only seals, and does not open a transaction.
func TestASealWaitsForNoReaderOfItsEpoch(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		one, two := s.readers(t)
		require.NoError(t, s.guard.Seal(t.Context(), one))
		if s.dialect == migrations.SQLite {
			require.NoError(t, s.guard.Seal(t.Context(), two))
			return
		}
		tx := s.begin(t, sql.LevelDefault)
		require.NoError(t, s.guard.Check(one.Context(), tx, "r"))
		ctx, cancel := context.WithTimeout(t.Context(), waitLimit)
		defer cancel()
		require.NoError(t, s.seals.Seal(ctx, two), "it does not wait for the transaction")
		require.NoError(t, tx.Commit())
	})
}

// CheckHeld accepts each reader, also after another reader has released its lease. It rejects a reader whose lease an
// operator has ended.
func TestCheckHeldOfReaders(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		one, two := s.readers(t)
		require.NoError(t, s.guard.Seal(t.Context(), one))
		check := func(lease *rowlock.Lease) error {
			return s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return s.guard.CheckHeld(ctx, tx, "r")
			}, "r")
		}
		require.NoError(t, check(one))
		require.NoError(t, check(two))
		require.NoError(t, one.Release(t.Context()))
		require.NoError(t, check(two))
		require.ErrorIs(t, s.guard.ReleaseOnCommit(two.Context(), func(context.Context, *sql.Tx) error { panic("not to be called") }), errors.ErrUnsupported)
		require.NoError(t, s.locks.ForceRelease(t.Context(), driver.Key{Name: "r"}, two.Token(), true))
		require.NoError(t, two.Err(), "the reader has not noticed")
		require.ErrorIs(t, check(two), rowlock.ErrLost)
	})
}

// Two processes acquire several names as readers, seal, and write under both leases. A writer of one name then shuts out
// both processes.
func TestReadersOfSeveralNames(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		var both []*rowlock.Leases
		for range 2 {
			locker, err := rowlock.New(s.locks, rowlock.TTL(time.Hour), rowlock.Shared(), rowlock.Fenced(s.guard))
			require.NoError(t, err)
			t.Cleanup(func() { _ = locker.Close() })
			leases, err := locker.AcquireAll(t.Context(), []string{"b", "a"})
			require.NoError(t, err)
			both = append(both, leases)
		}
		assert.Equal(t, both[0].Lease("a").Token(), both[1].Lease("a").Token())
		assert.Equal(t, both[0].Lease("b").Token(), both[1].Lease("b").Token())
		work := func(leases *rowlock.Leases) error {
			return s.guard.Tx(leases.Context(), func(ctx context.Context, tx *sql.Tx) error {
				return s.append(ctx, tx, leases.Lease("a"))
			})
		}
		for _, leases := range both {
			require.NoError(t, work(leases))
		}
		require.NoError(t, both[0].Release(t.Context()))
		require.NoError(t, work(both[1]))
		newer := s.lease(t, "b")
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		var stale *fence.StaleError
		require.ErrorAs(t, work(both[1]), &stale)
		assert.Equal(t, "b", stale.Resource)
		assert.EqualValues(t, 3, s.int(t, "SELECT count(*) FROM ledger"))
	})
}

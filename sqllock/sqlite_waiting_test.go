package sqllock_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/contest"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// A release reserves the lock for the waiter that has waited longest. Only that waiter is granted the lock. After one
// grant, it moves to the end of the queue. During the reservation, a new process and the process that has just released
// the lock are refused.
func TestSQLiteReleaseKeepsTheLockForWhoHasWaitedLongest(t *testing.T) {
	s := newSQLiteTest(t)
	a, first, second := s.open(), s.open(), s.open()
	g := acquire(t, a, request("job"))
	firstWoken, _ := waitFor(t, first, g.Key)
	s.exec(t, "UPDATE rowlock_lease_waiter SET since = since - 1000000")
	waitFor(t, second, g.Key)
	assert.Equal(t, 2, refused(t, a, request("job")).Ahead)
	assert.Equal(t, 0, refused(t, first, waiting("job")).Ahead)
	assert.Equal(t, 1, refused(t, second, waiting("job")).Ahead)

	s.live(t)
	require.NoError(t, a.Release(t.Context(), g))
	happens(t, firstWoken, "the first is woken")
	require.ErrorIs(t, a.ForceRelease(t.Context(), g.Key, g.Token, true), driver.ErrNotHeld, "what is kept is nobody's yet")
	s.exec(t, "UPDATE rowlock_lease SET held_until = held_until + 60000000") // makes the reservation long enough for the test
	for who, b := range map[string]*sqllock.Backend{"releaser": a, "second": second} {
		h := refused(t, b, waiting("job"))
		assert.Equal(t, driver.Reserved, h.Reason, who)
		assert.Positive(t, h.ExpiresIn, who)
	}
	assert.Equal(t, driver.Reserved, refused(t, first, request("job")).Reason, "a newcomer in the waiter's process")
	st, err := a.Inspect(t.Context(), g.Key)
	require.NoError(t, err)
	assert.Equal(t, driver.StateClosed, st.State)
	tx := s.begin(t)
	assert.Equal(t, driver.Reserved, held(t, a.InTx(t.Context(), tx, "job")).Reason)
	require.NoError(t, tx.Rollback())

	g = acquire(t, first, waiting("job"))
	assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_waiter"), "it no longer waits")
	assert.EqualValues(t, 0, s.int(t, "SELECT count(reserved_for) FROM rowlock_lease"))
	refused(t, first, waiting("job")) // the first process waits again, now behind the second process
	assert.Equal(t, 1, refused(t, first, waiting("job")).Ahead)
	s.live(t)
	require.NoError(t, first.Release(t.Context(), g))
	s.exec(t, "UPDATE rowlock_lease SET held_until = held_until + 60000000")
	assert.Equal(t, driver.Reserved, refused(t, first, waiting("job")).Reason)
	acquire(t, second, waiting("job"))
}

// A waiter neither shortens nor lengthens a minimum hold. A forced release reserves the lock for the waiter.
func TestSQLiteWaitersAndTheOtherEndsOfALease(t *testing.T) {
	s := newSQLiteTest(t)
	a, b := s.open(), s.open()
	r := request("job")
	r.MinHold = time.Hour
	g := acquire(t, a, r)
	woken, _ := waitFor(t, b, g.Key)
	require.NoError(t, a.Release(t.Context(), g))
	h := refused(t, b, waiting("job"))
	assert.Equal(t, driver.MinHold, h.Reason)
	near(t, time.Hour, h.ExpiresIn, "free in")

	s.live(t)
	require.NoError(t, a.ForceRelease(t.Context(), g.Key, g.Token, true))
	happens(t, woken, "it is woken")
	s.exec(t, "UPDATE rowlock_lease SET held_until = held_until + 60000000")
	assert.Equal(t, driver.Reserved, refused(t, a, request("job")).Reason)
	acquire(t, b, waiting("job"))
}

// A waiter whose process has died delays the others by 50 ms for each release. When its row is older than 3 s, it does
// not delay other waiters. When its row is older than a minute, the next process that begins to wait deletes the row.
func TestSQLiteDeadWaiters(t *testing.T) {
	s := newSQLiteTest(t)
	a := s.open()
	dead := func() {
		s.exec(t, "INSERT INTO rowlock_lease_waiter SELECT '', 'job', 'dead', now, now FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000 AS now)")
	}
	g := acquire(t, a, request("job"))
	dead()
	require.NoError(t, a.Release(t.Context(), g))
	assert.EqualValues(t, 50_000, s.int(t, "SELECT held_until - expires_at FROM rowlock_lease"))
	until(t, "the reservation ends", func() bool {
		var err error
		g, err = a.Acquire(t.Context(), request("job"))
		return err == nil
	})
	s.exec(t, "UPDATE rowlock_lease_waiter SET seen_at = seen_at - 3000000")
	require.NoError(t, a.Release(t.Context(), g))
	g = acquire(t, a, request("job"))

	s.exec(t, "UPDATE rowlock_lease_waiter SET seen_at = seen_at - 60000000")
	// A waiter of another lock refreshed its row 20 s ago. Its process may only be slow, so its row stays.
	s.exec(t, "INSERT INTO rowlock_lease_waiter SELECT '', 'other', 'slow', now, now - 20000000 FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000 AS now)")
	_, stop := waitFor(t, s.open(), g.Key)
	assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'job'"))
	assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE id = 'slow'"), "only the dead are forgotten")
	stop()
	assert.EqualValues(t, 0, s.int(t, "SELECT count(*) FROM rowlock_lease_waiter WHERE name = 'job'"), "who gives up leaves no row")
}

// When another process releases the lock, only the waiter that the lock is reserved for is woken. In this test, a
// connection outside the backends plays the other process.
func TestSQLiteWaitersWatchTheFile(t *testing.T) {
	s := newSQLiteTest(t)
	first, second := s.open(), s.open()
	g := acquire(t, s.open(), request("job"))
	woken, _ := waitFor(t, first, g.Key)
	s.exec(t, "UPDATE rowlock_lease_waiter SET since = since - 1000000")
	other, _ := waitFor(t, second, g.Key)
	s.exec(t, "CREATE TABLE somebody_elses (n INTEGER)") // this change of the file does not wake waiters
	text, err := os.ReadFile("internal/sqlite/sql/release.sql")
	require.NoError(t, err)
	longer := strings.ReplaceAll(string(text), "50000", "60000000") // makes the reservation long enough for the test
	s.live(t)
	began := time.Now()
	rows, err := s.raw.QueryContext(t.Context(), longer, g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), int64(0), nil)
	require.NoError(t, err)
	require.True(t, rows.Next())
	require.NoError(t, rows.Close())
	happens(t, woken, "the waiter is woken")
	t.Logf("woken %s after the release was sent", time.Since(began))
	assert.Empty(t, other)
}

// If two backends of one process use a database in memory, a release through one backend wakes the waiters of the
// other backend.
func TestSQLiteInMemoryWakes(t *testing.T) {
	t.Parallel()
	db := openSQLite(t, ":memory:")
	db.SetMaxOpenConns(1)
	testschema.Install(t, db, migrations.SQLite)
	a, b := sqllock.SQLite(db), sqllock.SQLite(db)
	g := acquire(t, a, request("job"))
	woken, _ := waitFor(t, b, g.Key)
	require.NoError(t, a.Release(t.Context(), g))
	happens(t, woken, "the waiter is woken")
	acquire(t, b, waiting("job"))
	assert.Empty(t, b.Capabilities().Warnings)
}

// If eight processes, each with a separate handle of the file, acquire the same lock repeatedly, each process gets at
// least half of its fair share. With a rollback journal, which is slower, the test uses four processes. SQLite serves
// writers in no particular order, so a process may enter the queue a few grants late. Therefore the test counts many
// grants.
func TestSQLiteStarvesNobody(t *testing.T) {
	for mode, members := range map[string]int{"WAL": 8, "DELETE": 4} {
		t.Run(mode, func(t *testing.T) { starvesNobody(t, sqliteTestWith(t, mode), members) })
	}
}

func starvesNobody(t *testing.T, s *store, members int) {
	var asks atomic.Int64
	var lockers []*rowlock.Locker
	for range members {
		locker, err := rowlock.New(counting{s.open(), &asks}, rowlock.TTL(time.Minute)) // a long TTL, because an overloaded machine may renew late
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, locker.Close()) })
		lockers = append(lockers, locker)
	}
	r := contest.Run(t, lockers, 1, 24*members, 3*time.Minute)
	t.Logf("%.1f attempts for each", float64(asks.Load())/float64(r.All))
	assert.GreaterOrEqual(t, r.Least(), 0.5)
}

// counting is a backend that counts calls of Acquire.
type counting struct {
	*sqllock.Backend

	asks *atomic.Int64
}

func (c counting) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	c.asks.Add(1)
	return c.Backend.Acquire(ctx, r)
}

// The caller's connections keep their configured durability and busy timeout.
func TestSQLiteLeavesSynchronousAlone(t *testing.T) {
	for level, name := range []string{"OFF", "NORMAL", "FULL", "EXTRA"} {
		t.Run(name, func(t *testing.T) {
			s := newSQLiteTest(t)
			db := openSQLite(t, fileOf(t, s)+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(4321)&_pragma=synchronous("+name+")")
			db.SetMaxOpenConns(1)
			b := sqllock.SQLite(db)
			for range 2 {
				g := acquire(t, b, request("job"))
				_, stop := waitFor(t, b, g.Key)
				stop()
				require.NoError(t, b.Release(t.Context(), g))
			}
			var now int
			require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&now))
			assert.Equal(t, level, now)
			require.NoError(t, db.QueryRowContext(t.Context(), "PRAGMA busy_timeout").Scan(&now))
			assert.Equal(t, 4321, now)
		})
	}
}

// A release that records a tick waits for the disk, so that a power cut does not undo it. Other releases do not wait.
func TestSQLiteFlushesATick(t *testing.T) {
	t.Parallel()
	statements := &counted{dsn: "file:" + filepath.Join(t.TempDir(), "locks.db") + "?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"}
	db := sql.OpenDB(statements)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, migrations.Up(t.Context(), db, migrations.SQLite))
	b := sqllock.SQLite(db)
	for tick, relaxed := range map[string]int64{"": 1, "2026-11-23T00:00:00Z": 0} {
		g := acquire(t, b, request("job "+tick))
		g.Done = tick
		before := statements.relaxed.Load()
		require.NoError(t, b.Release(t.Context(), g))
		assert.Equal(t, relaxed, statements.relaxed.Load()-before, "tick %q", tick)
	}
}

// If the table of waiters is missing, because the tables are older, the error names the command to run.
func TestSQLiteWithoutWaitersSaysWhatToDo(t *testing.T) {
	for _, gone := range []string{"DROP TABLE rowlock_lease_waiter", "ALTER TABLE rowlock_lease DROP COLUMN reserved_for"} {
		s := sqliteStore(t, "?_pragma=journal_mode(WAL)")
		s.table = "rowlock_lease"
		testschema.Install(t, s.raw, migrations.SQLite)
		used := s.open()
		g := acquire(t, used, request("job")) // this acquire prepares the statements of the backend
		s.exec(t, gone)
		for name, b := range map[string]*sqllock.Backend{"used": used, "new": s.open()} {
			_, err := b.Acquire(t.Context(), request("another"))
			outdated(t, s.table, map[string]error{fmt.Sprint(gone, name): err, "release": b.Release(t.Context(), g)})
		}
	}
}

// A backend prepares no statement for one lock, because a short process would not run it again. A backend's prepared
// statements are closed when the backend is garbage-collected, even if the pool stays open.
func TestSQLiteBackendsThatAreDroppedLeaveNothing(t *testing.T) {
	t.Parallel()
	statements := &counted{dsn: "file:" + filepath.Join(t.TempDir(), "locks.db") + "?_pragma=journal_mode(WAL)"}
	db := sql.OpenDB(statements)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	require.NoError(t, migrations.Up(t.Context(), db, migrations.SQLite))
	first := sql.OpenDB(&counted{dsn: statements.dsn})
	t.Cleanup(func() { require.NoError(t, first.Close()) })
	acquire(t, sqllock.SQLite(first), request("other")) // the first acquire in a new file writes the column epoch, and then looks again
	before := statements.open.Load()
	func() {
		b := sqllock.SQLite(db)
		require.NoError(t, b.Release(t.Context(), acquire(t, b, request("job"))))
		require.Equal(t, before, statements.open.Load())
		for range 3 {
			require.NoError(t, b.Release(t.Context(), acquire(t, b, request("job"))))
		}
	}()
	require.Greater(t, statements.open.Load(), before)
	until(t, "the statements are closed", func() bool {
		runtime.GC()
		return statements.open.Load() == before
	})
}

package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/migrations"
)

// If the server has committed and only the reply was lost, Tx returns nil and runs the transaction once.
func TestALostReplyToACommit(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) {
		for i := range int64(3) {
			runs := 0
			require.NoError(t, l.tx(lease.Context(), func(_ context.Context, do execute) error {
				runs++
				defer l.proxy.DropReplies(1, faultproxy.Reset)
				return do(increment)
			}))
			assert.Equal(t, 1, runs)
			assert.Equal(t, i+1, l.count(t))
		}
	})
}

// If the server has committed but the connection hangs until ctx ends, Tx also returns nil.
func TestASilentCommit(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) {
		ctx, cancel := context.WithCancel(lease.Context())
		defer cancel()
		var silent sync.WaitGroup
		runs := 0
		require.NoError(t, l.tx(ctx, func(_ context.Context, do execute) error {
			runs++
			defer func() {
				l.proxy.DropReplies(1, faultproxy.Hang)
				silent.Go(func() {
					assert.Eventually(t, func() bool { return l.proxy.Drops() == 0 }, waitLimit, time.Millisecond, "the server replies to the commit")
					if l.readTimeout() == 0 { // otherwise the driver ends the wait
						cancel()
					}
				})
			}()
			return do(increment)
		}))
		silent.Wait()
		assert.Equal(t, 1, runs)
		assert.EqualValues(t, 1, l.count(t))
	})
}

// If the commit does not reach the server, Tx runs the transaction again, and it is applied once.
func TestALostCommit(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) {
		runs := 0
		require.NoError(t, l.tx(lease.Context(), func(_ context.Context, do execute) error {
			runs++
			err := do(increment)
			if runs <= 2 {
				l.proxy.Reset()
			}
			return err
		}))
		assert.Equal(t, 3, runs)
		assert.EqualValues(t, 1, l.count(t))
	})
}

// If the connection breaks when the transaction begins, Tx begins again on another connection, because nothing was
// written.
func TestAConnectionThatBreaksAtTheBegin(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) {
		add := func(_ context.Context, do execute) error { return do(increment) }
		require.NoError(t, l.tx(lease.Context(), add)) // leaves a connection in the pool
		l.proxy.DropReplies(1, faultproxy.Reset)
		require.NoError(t, l.tx(lease.Context(), add))
		assert.EqualValues(t, 2, l.count(t))
	})
}

// If the server does not notice that the connection is gone, the outcome is known only after the server has ended the
// transaction in doubt. Until then, Tx returns no result.
func TestATransactionThatTheServerKeepsOpen(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, _ *rowlock.Lease) {
		lease := leaseFrom(t, l.locks, "r", rowlock.TTL(4*time.Second)) // on Postgres, the TTL limits how long the transaction may idle
		require.NoError(t, l.guard.Seal(t.Context(), lease))
		limit := 2 * time.Second
		if l.readTimeout() > 0 {
			limit = 30 * time.Second
		}
		ctx, cancel := context.WithTimeout(lease.Context(), limit)
		defer cancel()
		runs := 0
		err := l.tx(ctx, func(_ context.Context, do execute) error {
			if runs++; runs > 1 {
				return do(increment)
			}
			if l.dialect == migrations.MySQL {
				require.NoError(t, do("SET SESSION wait_timeout = 3"))
			}
			err := do(increment)
			l.direct.Store(true)
			l.proxy.Cut()
			return err
		})
		if l.readTimeout() > 0 { // ctx has not ended, so the transaction runs again
			require.NoError(t, err)
			assert.Equal(t, 2, runs)
			assert.EqualValues(t, 1, l.count(t))
			return
		}
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.NotErrorIs(t, err, fence.ErrUnknown)
		require.ErrorContains(t, err, "nothing was committed")
		assert.Equal(t, 1, runs)
		assert.Zero(t, l.count(t))
	})
}

// If no server answers, Tx returns ErrUnknown, and the guard does not use the outcome row of that transaction again.
func TestAnOutcomeOfAServerThatIsCutOff(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) { outcomeIsUnknown(t, l, lease, false) }, "pgx", "mysql")
}

// If the transaction in doubt stays open on the server, Tx returns ErrUnknown, and does not use its outcome row again.
func TestAnOutcomeThatIsStillOpen(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) { outcomeIsUnknown(t, l, lease, true) }, "pgx", "mariadb")
}

func outcomeIsUnknown(t *testing.T, l *link, lease *rowlock.Lease, direct bool) {
	t.Helper()
	fence.SetSettleLimit(l.guard, 2*time.Second) // the database gives no answer for longer than that
	ctx, cancel := context.WithTimeout(lease.Context(), 2*time.Second)
	defer cancel()
	var began time.Time
	err := l.tx(ctx, func(_ context.Context, do execute) error {
		defer func() { began = time.Now() }()
		err := do(increment)
		l.direct.Store(direct)
		l.proxy.Cut()
		return err
	})
	require.ErrorIs(t, err, fence.ErrUnknown)
	require.NotErrorIs(t, err, fence.ErrRetry)
	assert.Less(t, time.Since(began), 20*time.Second)
	l.proxy.Restore() // Restore also resets the cut connections
	require.NoError(t, l.tx(lease.Context(), func(_ context.Context, do execute) error { return do(increment) }))
	assert.EqualValues(t, 1, l.count(t))
	assert.EqualValues(t, 2, l.int(t, "SELECT max(operation) + count(*) FROM rowlock_lease_outcome"), "the first slot is not used again")
}

// Connections are cut at random during commits. Exactly the transactions for which Tx returned nil were applied.
func TestEachSuccessCountsOnce(t *testing.T) {
	eachLink(t, func(t *testing.T, l *link, lease *rowlock.Lease) {
		const workers, each = 4, 50
		var succeeded, failed, ran atomic.Int64
		var work sync.WaitGroup
		for range workers {
			work.Go(func() {
				for range each {
					err := l.tx(lease.Context(), func(_ context.Context, do execute) error {
						ran.Add(1)
						err := do(increment)
						switch rand.N(8) {
						case 0:
							l.proxy.DropReplies(1, faultproxy.Reset)
						case 1:
							l.proxy.Reset()
						}
						return err
					})
					if err == nil {
						succeeded.Add(1)
					} else {
						failed.Add(1)
					}
					assert.NotErrorIs(t, err, fence.ErrUnknown)
				}
			})
		}
		work.Wait()
		t.Logf("%d succeeded, %d failed, %d runs", succeeded.Load(), failed.Load(), ran.Load())
		// The pool of l.guard may have connections that were cut. So this seal uses the guard that connects directly.
		require.NoError(t, l.store.guard.Seal(t.Context(), l.lease(t, "r")), "waits for transactions that the server has not rolled back yet")
		assert.Equal(t, succeeded.Load(), l.count(t))
		assert.Positive(t, succeeded.Load())
		assert.Greater(t, ran.Load(), succeeded.Load(), "some were cut off")
	})
}

// The number of outcome rows is the number of concurrent transactions, and not the number of all transactions.
func TestSlotsAreUsedAgain(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		wrong := errors.New("wrong")
		for range 10 {
			s.work(t, lease)
			require.ErrorIs(t, s.guard.Tx(lease.Context(), func(context.Context, *sql.Tx) error { return wrong }), wrong)
		}
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_outcome"))
		assert.EqualValues(t, 19, s.int(t, "SELECT max(operation) FROM rowlock_lease_outcome"))
		if s.dialect == migrations.SQLite {
			return // a SQLite file has one writer at a time
		}
		inside := func(context.Context, *sql.Tx) error { s.work(t, lease); return nil }
		require.NoError(t, s.guard.Tx(lease.Context(), inside))
		require.NoError(t, s.guard.Tx(lease.Context(), inside))
		assert.EqualValues(t, 2, s.int(t, "SELECT count(*) FROM rowlock_lease_outcome"))
	})
}

// If the database rejects a commit because of the transaction's own work, Tx does not run the transaction again,
// and the session stays usable.
func TestARefusedCommit(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.MySQL {
			return // the database has no constraint that is checked at the commit
		}
		dsn := s.dsn
		if s.dialect == migrations.SQLite {
			dsn += "&_pragma=foreign_keys(1)"
		}
		db := s.open(t, dsn)
		db.SetMaxOpenConns(1)
		guard := s.engine.guard(db)
		lease := s.lease(t, "r")
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		s.exec(t, "CREATE TABLE parent (id bigint PRIMARY KEY)")
		s.exec(t, "CREATE TABLE child (id bigint REFERENCES parent (id) DEFERRABLE INITIALLY DEFERRED)")
		for range 3 {
			runs := 0
			err := guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
				runs++
				_, err := tx.ExecContext(ctx, "INSERT INTO child (id) VALUES (1)")
				return err
			})
			require.ErrorContains(t, err, "nothing was committed")
			require.NotErrorIs(t, err, fence.ErrRetry)
			require.NotErrorIs(t, err, fence.ErrUnknown)
			assert.Equal(t, 1, runs)
			require.NoError(t, guard.Tx(lease.Context(), func(context.Context, *sql.Tx) error { return nil }))
		}
		assert.Zero(t, s.int(t, "SELECT count(*) FROM child"))
	})
}

// If a SQLite commit cannot lock the file, Tx rolls the transaction back and runs it again. While a reader blocks the
// commit, nothing is committed. After the reader has ended, the transaction is committed once.
func TestACommitThatFindsTheFileBusy(t *testing.T) {
	t.Parallel()
	s := sqliteJournal.fresh(t)
	writers := s.open(t, strings.Replace(s.dsn, "busy_timeout(5000)", "busy_timeout(1)", 1))
	writers.SetMaxOpenConns(1)
	guard := fence.SQLite(writers)
	lease := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), lease))
	for _, gone := range []bool{false, true} {
		reader := s.begin(t, sql.LevelDefault)
		var n int64
		require.NoError(t, reader.QueryRowContext(t.Context(), "SELECT count(*) FROM ledger").Scan(&n))
		runs := 0
		err := guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			if runs++; runs == 3 && gone {
				require.NoError(t, reader.Rollback())
			}
			return s.append(ctx, tx, lease)
		})
		if gone {
			require.NoError(t, err)
			assert.Equal(t, 3, runs)
			continue
		}
		require.ErrorIs(t, err, fence.ErrRetry)
		assert.Equal(t, 10, runs)
		require.NoError(t, reader.Rollback())
		assert.Zero(t, s.int(t, "SELECT count(*) FROM ledger"))
		var written int64
		require.NoError(t, writers.QueryRowContext(t.Context(), "SELECT count(*) FROM ledger").Scan(&written))
		assert.Zero(t, written, "the session has no transaction left")
	}
	assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM ledger"))
}

package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// A lease without a token can claim. After the next lease has claimed, the older lease is stale.
// If the older lease claims late, its lock's store rejects the renewal. A second claim by the same lease changes
// nothing and waits for no transaction.
func TestClaim(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locks := memlock.New()
		old := holder(t, tokenless{locks})
		require.Zero(t, old.Token())
		require.ErrorContains(t, s.guard.Seal(t.Context(), old), "use Claim")
		require.ErrorContains(t, s.guard.Tx(old.Context(), nothing), "never claimed")
		require.NoError(t, s.guard.Claim(t.Context(), old))
		s.work(t, old)

		locks.Expire(driver.Key{Name: "r"})
		newer := holder(t, tokenless{locks})
		s.work(t, old)
		require.NoError(t, s.guard.Claim(t.Context(), newer))
		minted := s.int(t, "SELECT token FROM rowlock_lease_fence")
		err := s.guard.Tx(old.Context(), nothing)
		require.ErrorIs(t, err, fence.ErrStale)
		require.ErrorContains(t, err, "claimed last by another holder")
		s.work(t, newer)

		require.NoError(t, old.Err(), "the holder has not noticed")
		other := s.engine.guard(s.db) // this guard does not remember the claim
		require.ErrorIs(t, other.Claim(t.Context(), old), rowlock.ErrLost)
		require.ErrorIs(t, s.guard.Claim(t.Context(), old), rowlock.ErrLost)
		if s.dialect != migrations.SQLite {
			tx := s.begin(t, sql.LevelDefault)
			for err = s.guard.Check(newer.Context(), tx); errors.Is(err, fence.ErrRetry); err = s.guard.Check(newer.Context(), tx) {
				require.NoError(t, tx.Rollback()) // the server has not yet noticed that the connection of a refused claim was closed
				tx = s.begin(t, sql.LevelDefault)
			}
			require.NoError(t, err)
			defer func() { require.NoError(t, tx.Commit()) }()
		}
		require.NoError(t, s.guard.Claim(t.Context(), newer))
		assert.Equal(t, minted, s.int(t, "SELECT token FROM rowlock_lease_fence"))
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence WHERE domain = 'claim r'"))
	})
}

// The token of a claim is the time of the database's clock. It is larger than the previous token even if the clock was
// set back.
func TestAClaimMintsALargerToken(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		before := time.Now().UnixMicro()
		require.NoError(t, s.guard.Claim(t.Context(), s.lease(t, "r"), "r", "q"))
		for _, minted := range []int64{s.int(t, "SELECT min(token) FROM rowlock_lease_fence"), s.int(t, "SELECT max(token) FROM rowlock_lease_fence")} {
			assert.InDelta(t, before, minted, float64(time.Minute.Microseconds()))
		}
		const ahead = int64(1) << 60
		s.exec(t, "UPDATE rowlock_lease_fence SET token = ? WHERE resource = 'q'", ahead)
		require.NoError(t, s.guard.Claim(t.Context(), s.lease(t, "r"), "r", "q"))
		assert.Equal(t, ahead+1, s.int(t, "SELECT token FROM rowlock_lease_fence WHERE resource = 'q'"))
	})
}

// If the store grants the lock to two holders at the same time, the holder that claimed first is stale, whatever the
// tokens of the two leases are. The stale holder cannot claim again, because what it has read is out of date.
func TestClaimsOrderHoldersThatTheStoreDoesNotExclude(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		one, behind := memlock.New(), memlock.New()
		behind.Advance(-time.Hour)
		first, second := holder(t, one), holder(t, behind)
		require.Less(t, second.Token(), first.Token())
		require.NoError(t, s.guard.Claim(t.Context(), first))
		s.work(t, first)
		require.NoError(t, s.guard.Claim(t.Context(), second))
		s.work(t, second)
		for _, err := range []error{s.guard.Tx(first.Context(), nothing), s.guard.Claim(t.Context(), first)} {
			require.ErrorIs(t, err, fence.ErrStale)
		}
		require.NoError(t, first.Err())
		s.work(t, second)
	})
}

// Many holders work at the same time, because nothing excludes them. Each holder claims, reads,
// and writes values based on that read. When it is stale, it starts again with a new lease. No update is lost.
func TestClaimsLoseNoUpdateWithoutAnyExclusion(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		const holders, holds = 4, 3
		s.exec(t, "CREATE TABLE tally (n bigint NOT NULL)")
		s.exec(t, "INSERT INTO tally (n) VALUES (0)")
		done := make(chan int, holders)
		leases := make([][]*rowlock.Lease, holders)
		for i := range leases {
			for range holds {
				leases[i] = append(leases[i], holder(t, tokenless{memlock.New()}))
			}
			go func() {
				written := 0
				for _, lease := range leases[i] {
					n, err := s.hold(t.Context(), lease)
					written += n
					if err != nil && !errors.Is(err, fence.ErrStale) {
						assert.ErrorIs(t, err, fence.ErrRetry)
					}
				}
				done <- written
			}()
		}
		written := 0
		for range holders {
			written += <-done
		}
		assert.EqualValues(t, written, s.int(t, "SELECT n FROM tally"))
		assert.Positive(t, written)
	})
}

// hold claims, and reads the number in the table tally once. It then writes the next five numbers without reading
// again, and returns how many it has written.
func (s *store) hold(ctx context.Context, lease *rowlock.Lease) (written int, err error) {
	if err := s.guard.Claim(ctx, lease); err != nil {
		return 0, err
	}
	var n int64
	if err := s.db.QueryRowContext(ctx, "SELECT n FROM tally").Scan(&n); err != nil {
		return 0, err
	}
	for range 5 {
		n++
		err := s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, s.bind("UPDATE tally SET n = ?"), n)
			return err
		})
		if err != nil {
			return written, err
		}
		written++
	}
	return written, nil
}

// If the renewal gets no reply, Claim changes nothing and returns an ErrUnknown. A second Claim then succeeds.
func TestAnUnprovenLeaseClaimsNothing(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locks := memlock.New()
		lease := holder(t, locks, rowlock.TTL(time.Hour)) // the claim renews before the first renewal
		locks.LoseReply(memlock.OpRenew)
		err := s.guard.Claim(t.Context(), lease)
		require.ErrorIs(t, err, rowlock.ErrUnknown)
		require.NotErrorIs(t, err, fence.ErrRetry)
		assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
		require.NoError(t, s.guard.Claim(t.Context(), lease))
		s.work(t, lease)
	})
}

// Tokens of a store are not compared with tokens of claims. If one resource cannot be claimed, Claim claims none.
func TestAClaimIsADomainOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		require.NoError(t, s.guard.Seal(t.Context(), s.lease(t, "r"), "r"))
		lease := s.lease(t, "r")
		err := s.guard.Claim(t.Context(), lease, "a", "r")
		require.ErrorIs(t, err, fence.ErrOtherDomain)
		require.ErrorContains(t, err, `tokens of "claim r"`)
		assert.EqualValues(t, 1, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
		require.NoError(t, s.guard.Claim(t.Context(), lease, "a"))
		require.ErrorContains(t, s.engine.guard(s.db, fence.TokenDomain("claim")).Validate(), "Claim")
		require.ErrorContains(t, s.guard.Claim(t.Context(), nil), "nil")
		require.NoError(t, lease.Release(t.Context()))
		require.ErrorIs(t, s.guard.Claim(t.Context(), lease), rowlock.ErrReleased)
		require.ErrorIs(t, s.guard.Seal(t.Context(), s.lease(t, "r"), "a"), fence.ErrOtherDomain)
	})
}

// At every isolation level of every engine, a claim guarantees the same as a seal: no stale write commits,
// and the successor has seen its predecessor's last write.
func TestClaimAtAnyIsolationLevel(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			for _, level := range e.scheduled() {
				for _, sch := range schedules {
					t.Run(fmt.Sprintf("%s/%s", level, sch.name), func(t *testing.T) {
						s := s.again(t)
						s.seals = s.guard.Claimer()
						err := sch.run(t, s, level, patterns[0])
						assert.False(t, s.violated(t), "the old holder's error: %v", err)
						if err != nil {
							assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrRetry), "%v", err)
						}
					})
				}
			}
		})
	}
}

// With the option Fenced(guard.Claimer()), Do claims before the work begins.
func TestDoFencedByClaims(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		locker, err := rowlock.New(tokenless{memlock.New()}, rowlock.Fenced(s.guard.Claimer()))
		require.NoError(t, err)
		defer func() { require.NoError(t, locker.Close()) }()
		for range 3 {
			require.NoError(t, locker.Do(t.Context(), "r", func(ctx context.Context, lease *rowlock.Lease) error {
				return s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) })
			}))
		}
		require.False(t, s.violated(t))
	})
}

// If the lock is stored in the claimed database itself, the claim renews it on another connection.
// If lock and marks are in one SQLite file, that is impossible: Claim returns an error that says so within a limited
// time, and the lease continues.
func TestClaimWithALockInTheSameDatabase(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		backend := map[migrations.Dialect]func(*sql.DB) driver.Backend{
			migrations.Postgres: func(db *sql.DB) driver.Backend { return sqllock.Postgres(db) },
			migrations.MySQL:    func(db *sql.DB) driver.Backend { return sqllock.MySQL(db) },
			migrations.SQLite:   func(db *sql.DB) driver.Backend { return sqllock.SQLite(db) },
		}[s.dialect](s.db)
		if s.dialect != migrations.SQLite {
			lease := holder(t, backend)
			require.NoError(t, s.guard.Claim(t.Context(), lease))
			s.work(t, lease)
			return
		}
		lease := holder(t, backend, rowlock.TTL(20*time.Second))
		err := s.guard.Claim(t.Context(), lease)
		require.ErrorIs(t, err, rowlock.ErrUnknown)
		require.ErrorContains(t, err, "use Seal")
		require.NoError(t, lease.Err())
		require.NoError(t, s.guard.Seal(t.Context(), lease))
		s.work(t, lease)
	})
}

// A claim and a lazy check need the same privileges as a seal.
func TestClaimAndLazyCheckNeedNoMorePrivileges(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			few, reader := s.as(t, "SELECT, INSERT, UPDATE"), s.as(t, "SELECT")
			for range 2 {
				lease := s.lease(t, "r")
				require.NoError(t, e.guard(few).Claim(t.Context(), lease))
				require.NoError(t, e.guard(few).Tx(lease.Context(), nothing))
				require.NoError(t, e.guard(few, fence.Lazy()).Tx(lease.Context(), nothing, "lazy"))
			}
			newest := s.lease(t, "r")
			require.ErrorContains(t, e.guard(reader).Claim(t.Context(), newest), "privilege")
			require.ErrorContains(t, e.guard(reader, fence.Lazy()).Tx(newest.Context(), nothing, "lazy"), "privilege")
		})
	}
}

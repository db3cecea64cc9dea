package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// pattern is one way to check the mark inside the transaction that writes.
type pattern struct {
	name  string
	check func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error
	write func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error
	on    []migrations.Dialect
}

var errRefused = errors.New("rejected by the pattern")

// reading returns a check that reads the mark, and compares the mark's token with the lease's token. The parameter
// suffix is the locking clause of the read.
func reading(suffix string) func(context.Context, *store, *sql.Tx, *rowlock.Lease) error {
	return func(ctx context.Context, _ *store, tx *sql.Tx, lease *rowlock.Lease) error {
		var token int64
		err := tx.QueryRowContext(ctx, "SELECT token FROM rowlock_lease_fence"+suffix).Scan(&token)
		if err == nil && token > int64(lease.Token()) {
			err = errRefused
		}
		return err
	}
}

func appending(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
	return s.append(ctx, tx, lease)
}

var everywhere = []migrations.Dialect{migrations.Postgres, migrations.MySQL, migrations.SQLite}

var patterns = []pattern{
	{"Check", func(_ context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
		return s.guard.Check(lease.Context(), tx)
	}, appending, everywhere},
	{"plain SELECT", reading(""), appending, everywhere},
	{"FOR KEY SHARE", reading(" FOR KEY SHARE"), appending, everywhere[:1]},
	{"EXISTS in the write", func(context.Context, *store, *sql.Tx, *rowlock.Lease) error { return nil },
		func(ctx context.Context, s *store, tx *sql.Tx, lease *rowlock.Lease) error {
			result, err := tx.ExecContext(ctx, s.bind(`INSERT INTO ledger (token, seen)
				SELECT ?, (SELECT count(*) FROM ledger) FROM (SELECT 1 AS one) AS o
				WHERE EXISTS (SELECT 1 FROM rowlock_lease_fence WHERE token <= ?)`), int64(lease.Token()), int64(lease.Token()))
			if err != nil {
				return err
			}
			if n, err := result.RowsAffected(); err != nil || n == 0 {
				return errors.Join(errRefused, err)
			}
			return nil
		}, everywhere},
}

// schedule is a fixed order of the steps of an old holder and its successor. The successor seals,
// and then works as soon as no lock blocks its transaction.
type schedule struct {
	name string
	run  func(t *testing.T, s *store, level sql.IsolationLevel, p pattern) error
}

var schedules = []schedule{
	// S1: the old holder checks. Then the successor seals and works. Then the old holder writes and commits.
	{"S1", func(t *testing.T, s *store, level sql.IsolationLevel, p pattern) error {
		old, newer := s.two(t)
		tx := s.begin(t, level)
		err := p.check(t.Context(), s, tx, old)
		inWrite := p.name == "EXISTS in the write"
		if err == nil && inWrite {
			err = p.write(t.Context(), s, tx, old)
		}
		return finish(t, s, newer, newer, tx, err, func() error {
			if inWrite {
				return nil
			}
			return p.write(t.Context(), s, tx, old)
		})
	}},
	// S2: the old holder takes a snapshot. Then the successor seals and works. Then the old holder checks and writes.
	{"S2", func(t *testing.T, s *store, level sql.IsolationLevel, p pattern) error {
		old, newer := s.two(t)
		tx := s.begin(t, level)
		var n int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n))
		return finish(t, s, newer, newer, tx, nil, func() error {
			if err := p.check(t.Context(), s, tx, old); err != nil {
				return err
			}
			return p.write(t.Context(), s, tx, old)
		})
	}},
	// S3: the old holder checks and writes. Then the successor seals and works. Then the old holder commits.
	{"S3", func(t *testing.T, s *store, level sql.IsolationLevel, p pattern) error {
		old, newer := s.two(t)
		tx := s.begin(t, level)
		err := p.check(t.Context(), s, tx, old)
		if err == nil {
			err = p.write(t.Context(), s, tx, old)
		}
		return finish(t, s, newer, newer, tx, err, func() error { return nil })
	}},
}

// finish lets the successor seal and work until a lock blocks it. Then the old holder finishes, and the successor
// completes its work. The lease sealer seals, and the lease newer works. The two parameters are the same lease, or two
// shared leases with one token.
func finish(t *testing.T, s *store, sealer, newer *rowlock.Lease, tx *sql.Tx, err error, last func() error) error {
	t.Helper()
	require.NoError(t, err, "no newer lease has sealed yet, so nothing rejects the old holder")
	seal := s.startSeal(t, sealer)
	if !seal.waits {
		require.NoError(t, seal.wait())
		if s.dialect == migrations.MySQL || s.dialect == migrations.Postgres {
			s.work(t, newer)
		}
	}
	err = last()
	if err == nil {
		err = tx.Commit()
	}
	_ = tx.Rollback()
	if seal.waits {
		require.NoError(t, seal.wait())
	}
	if seal.waits || s.dialect == migrations.SQLite {
		s.work(t, newer)
	}
	return err
}

// violated reports whether the ledger has a stale write, or a holder worked without having seen its predecessor's last
// write.
func (s *store) violated(t *testing.T) bool {
	t.Helper()
	rows, err := s.db.QueryContext(t.Context(), "SELECT token, seen FROM ledger ORDER BY id")
	require.NoError(t, err)
	defer rows.Close()
	var tokens, seen []int64
	for rows.Next() {
		var token, n int64
		require.NoError(t, rows.Scan(&token, &n))
		tokens, seen = append(tokens, token), append(seen, n)
	}
	require.NoError(t, rows.Err())
	require.NotEmpty(t, tokens, "the successor has worked")
	for i, n := range seen {
		if n != int64(i) {
			return true
		}
	}
	return !slices.IsSorted(tokens)
}

// broken reports whether the pattern is known to allow a violation at this level, in this schedule.
func broken(s *store, level sql.IsolationLevel, schedule, pattern string) bool {
	snapshot := level == sql.LevelRepeatableRead || level == sql.LevelSerializable
	switch {
	case pattern == "Check" || s.dialect == migrations.SQLite:
		return false
	case s.dialect == migrations.Postgres:
		return schedule != "S2" || snapshot
	case level == sql.LevelSerializable: // each read takes a lock
		return false
	case pattern == "EXISTS in the write":
		return schedule != "S2" && level != sql.LevelRepeatableRead // at REPEATABLE READ the EXISTS in an INSERT takes a lock, too
	default:
		return schedule != "S2" || level == sql.LevelRepeatableRead
	}
}

// At every isolation level of every engine, no stale write commits in a transaction with a Check. The snapshot on which
// a successor works always has the last write before its seal. The test also runs handwritten checks in the same
// schedules. These checks allow a stale write, so the test shows that its schedules detect stale writes.
func TestNoStaleWriteAtAnyIsolationLevel(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			for _, level := range e.scheduled() {
				for _, p := range patterns {
					if !slices.Contains(p.on, e.dialect) {
						continue
					}
					var results []string
					for _, sch := range schedules {
						t.Run(fmt.Sprintf("%s/%s/%s", level, p.name, sch.name), func(t *testing.T) {
							s := s.again(t)
							err := sch.run(t, s, level, p)
							violated := s.violated(t)
							assert.Equal(t, broken(s, level, sch.name, p.name), violated, "violated; the old holder's error: %v", err)
							results = append(results, sch.name+" "+describe(violated, err))
							if p.name == "Check" && err != nil {
								assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrRetry), "%v", err)
							}
						})
					}
					t.Logf("%-27s %-17s %-20s %s", e.name, level, p.name, strings.Join(results, ", "))
				}
			}
		})
	}
}

func describe(violated bool, err error) string {
	switch {
	case violated:
		return "STALE"
	case errors.Is(err, fence.ErrRetry):
		return "ok (retry)"
	case err != nil:
		return "ok (rejected)"
	default:
		return "ok"
	}
}

// If a holder's transaction began to read before the holder's own seal, Check returns an ErrRetry,
// because the snapshot may lack the predecessor's last write.
func TestASnapshotFromBeforeTheSealIsRefused(t *testing.T) {
	t.Parallel()
	for _, e := range []engine{postgres, mysql, mariadb, mariadbSnapshot} { // on SQLite, the seal waits for a transaction that has read
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			snapshotIsRefused(t, e.fresh(t))
		})
	}
}

func snapshotIsRefused(t *testing.T, s *store) {
	t.Helper()
	for _, level := range s.levels {
		old, newer := s.two(t)
		tx := s.begin(t, level)
		var n int64
		require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n))
		s.work(t, old)
		require.NoError(t, s.guard.Seal(t.Context(), newer))
		err := s.guard.Check(newer.Context(), tx)
		switch {
		case level == sql.LevelRepeatableRead,
			level == sql.LevelSerializable && (s.dialect == migrations.Postgres || s.name == "mariadb-snapshot-isolation"):
			require.ErrorIs(t, err, fence.ErrRetry, level)
			require.NotErrorIs(t, err, fence.ErrStale, level)
		default:
			require.NoError(t, err, level)
		}
		require.NoError(t, tx.Rollback())
		s.work(t, newer)
	}
}

// Without a seal, a shared lock on the mark is not enough: the successor does not see a write that its predecessor
// commits later.
func TestWithoutASealASuccessorMissesAWrite(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		if s.dialect == migrations.SQLite {
			return // a SQLite file has one writer at a time
		}
		share := map[migrations.Dialect]string{migrations.Postgres: " FOR SHARE", migrations.MySQL: " LOCK IN SHARE MODE"}[s.dialect]
		old, newer := s.two(t)
		first := s.begin(t, sql.LevelRepeatableRead)
		require.NoError(t, s.guard.Check(old.Context(), first))
		require.NoError(t, s.append(t.Context(), first, old))
		second := s.begin(t, sql.LevelRepeatableRead)
		require.NoError(t, reading(share)(t.Context(), s, second, newer))
		require.NoError(t, s.append(t.Context(), second, newer))
		require.NoError(t, first.Commit())
		require.NoError(t, second.Commit())
		require.True(t, s.violated(t))
	})
}

package fence_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"

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

type step func(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease) error

func noSteps(*testing.T, *store, *sql.Tx, *rowlock.Lease) error { return nil }

func takeSnapshot(t *testing.T, _ *store, tx *sql.Tx, _ *rowlock.Lease) error {
	t.Helper()
	var n int64
	return tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n)
}

func write(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease) error {
	t.Helper()
	return s.append(t.Context(), tx, old)
}

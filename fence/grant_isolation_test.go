package fence_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// steps are the steps of an old holder before and after its successor acquires "r" with a grant that seals.
type steps struct {
	name          string
	before, after func(ctx context.Context, s *store, tx *sql.Tx, p pattern, old *rowlock.Lease) error
}

// grantSchedules are the schedules S1, S2 and S3 of schedules_test.go, with a grant that seals instead of a Seal.
var grantSchedules = []steps{
	{"S1", checks, writes},
	{"S2", func(ctx context.Context, _ *store, tx *sql.Tx, _ pattern, _ *rowlock.Lease) error {
		return tx.QueryRowContext(ctx, "SELECT count(*) FROM elsewhere").Scan(new(int64))
	}, checksAndWrites},
	{"S3", checksAndWrites, func(context.Context, *store, *sql.Tx, pattern, *rowlock.Lease) error { return nil }},
}

func checks(ctx context.Context, s *store, tx *sql.Tx, p pattern, old *rowlock.Lease) error {
	return p.check(ctx, s, tx, old)
}

func writes(ctx context.Context, s *store, tx *sql.Tx, p pattern, old *rowlock.Lease) error {
	return p.write(ctx, s, tx, old)
}

func checksAndWrites(ctx context.Context, s *store, tx *sql.Tx, p pattern, old *rowlock.Lease) error {
	if err := p.check(ctx, s, tx, old); err != nil {
		return err
	}
	return p.write(ctx, s, tx, old)
}

// run lets the successor acquire and work until a lock blocks it. Then the old holder finishes,
// and the successor completes its work.
func (steps steps) run(t *testing.T, s *store, level sql.IsolationLevel, p pattern) error {
	t.Helper()
	backend := sqllock.Postgres(s.db)
	if s.dialect == migrations.SQLite {
		backend = sqllock.SQLite(s.db)
	}
	require.NotZero(t, backend.Capabilities().SealsAt)
	old, err := lockerOn(t, backend).Acquire(t.Context(), "r", rowlock.Fenced(s.guard))
	require.NoError(t, err)
	require.NoError(t, backend.ForceRelease(t.Context(), driver.Key{Name: "r"}, old.Token(), true))
	require.NoError(t, old.Err(), "the old holder has not noticed")
	tx := s.begin(t, level)
	require.NoError(t, steps.before(t.Context(), s, tx, p, old), "no newer lease has sealed yet, so nothing rejects the old holder")

	var newer *rowlock.Lease
	acquiring := s.startAcquire(t, lockerOn(t, backend, rowlock.Fenced(s.guard)), &newer)
	worked := !acquiring.waits && s.dialect == migrations.Postgres
	if worked {
		require.NoError(t, acquiring.wait())
		s.work(t, newer)
	}
	err = steps.after(t.Context(), s, tx, p, old)
	if err == nil {
		err = tx.Commit()
	}
	_ = tx.Rollback()
	if !worked {
		require.NoError(t, acquiring.wait())
		s.work(t, newer)
	}
	return err
}

// startAcquire begins to acquire "r", and returns when the acquire has returned or waits. On SQLite an acquire that
// would wait is refused, and the function wait begins a new one.
func (s *store) startAcquire(t *testing.T, locker *rowlock.Locker, lease **rowlock.Lease) sealing {
	t.Helper()
	acquire := func() (err error) {
		*lease, err = locker.Acquire(t.Context(), "r")
		return err
	}
	if s.dialect != migrations.SQLite {
		done := make(chan error, 1)
		go func() { done <- acquire() }()
		return s.untilDoneOrWaiting(t, done)
	}
	var err error
	*lease, err = locker.TryAcquire(t.Context(), "r")
	if err == nil {
		return sealing{false, func() error { return nil }}
	}
	require.ErrorIs(t, err, rowlock.ErrHeld)
	return sealing{true, acquire}
}

// A grant that seals guarantees the same as a Seal. At every isolation level, no stale write commits in a transaction
// with a Check, and the successor has seen the last write before its grant. The test also runs the pattern "plain
// SELECT", which violates this guarantee. So the test shows that its schedules detect a violation.
func TestNoStaleWriteBehindASealedGrant(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		if e.dialect == migrations.MySQL {
			continue // these databases seal after the grant
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			for _, level := range e.scheduled() {
				for _, p := range patterns[:2] {
					for _, schedule := range grantSchedules {
						t.Run(fmt.Sprintf("%s/%s/%s", level, p.name, schedule.name), func(t *testing.T) {
							s := s.again(t)
							s.exec(t, "DELETE FROM rowlock_lease")
							err := schedule.run(t, s, level, p)
							assert.Equal(t, broken(s, level, schedule.name, p.name), s.violated(t), "violated; the old holder's error: %v", err)
							if p.name == "Check" && err != nil && schedule.name != "S2" {
								require.ErrorIs(t, err, fence.ErrStale)
							}
						})
					}
				}
			}
		})
	}
}

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
	"github.com/rowlock/rowlock/migrations"
)

// takeOver ends the old lease in the database and acquires its name.
func (s *store) takeOver(t *testing.T, old *rowlock.Lease) (newer *rowlock.Lease) {
	t.Helper()
	require.NoError(t, s.locks.ForceRelease(t.Context(), driver.Key{Name: old.Name()}, old.Token(), true))
	return s.lease(t, old.Name())
}

// grantsNobody reports whether the lock cannot be granted while the transaction of the old holder is open.
func (s *store) grantsNobody(level sql.IsolationLevel, schedule string) bool {
	switch {
	case s.dialect == migrations.SQLite:
		return schedule != "S2" || s.name != "sqlite-wal" // in WAL mode, a transaction without a write does not block writers
	default:
		return s.readsLock(level) && schedule != "S2"
	}
}

// holdSchedules are the schedules S1, S2 and S3 of schedules_test.go, with CheckHeld instead of Check. The field first
// has the old holder's steps before the successor acquires the lock and seals. The field last has the old holder's
// steps after that.
var holdSchedules = []struct {
	name        string
	first, last step
}{
	{"S1", hold, write},
	{"S2", takeSnapshot, holdAndWrite},
	{"S3", holdAndWrite, noSteps},
}

func hold(_ *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease) error {
	return s.guard.CheckHeld(old.Context(), tx)
}

func holdAndWrite(t *testing.T, s *store, tx *sql.Tx, old *rowlock.Lease) error {
	t.Helper()
	if err := hold(t, s, tx, old); err != nil {
		return err
	}
	return write(t, s, tx, old)
}

// At every isolation level of every engine, no stale write commits after a CheckHeld. No successor misses the last
// write before its seal, although the successor acquires the lock while the old transaction is open. On SQLite,
// and at SERIALIZABLE on MySQL, the lock is not granted while the transaction is open.
func TestNoStaleWriteBehindCheckHeld(t *testing.T) {
	kept(t, func(t *testing.T, s *store) {
		for _, level := range s.levels {
			for _, sch := range holdSchedules {
				t.Run(fmt.Sprintf("%s/%s", level, sch.name), func(t *testing.T) {
					s.exec(t, "DELETE FROM ledger")
					old := s.sealed(t)
					tx := s.begin(t, level)
					require.NoError(t, sch.first(t, s, tx, old), "no newer lease has sealed yet, so nothing rejects the old holder")
					var newer *rowlock.Lease
					var seal sealing
					switch {
					case s.grantsNobody(level, sch.name):
						ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second) // longer than the backend's own limit of 1 s
						if s.dialect == migrations.SQLite {
							ctx, cancel = context.WithTimeout(t.Context(), 500*time.Millisecond)
						}
						defer cancel()
						err := s.locks.ForceRelease(ctx, driver.Key{Name: "r"}, old.Token(), true)
						require.Error(t, err)
						require.NotErrorIs(t, err, driver.ErrNotHeld)
					case sch.name == "S2":
						newer = s.takeOver(t, old)
						require.NoError(t, s.guard.Seal(t.Context(), newer))
						s.work(t, newer)
					default:
						newer = s.takeOver(t, old)
						seal = s.startSeal(t, newer)
						require.True(t, seal.waits, "the checked transaction blocks the seal")
					}
					err := sch.last(t, s, tx, old)
					if err == nil {
						err = tx.Commit()
					}
					_ = tx.Rollback()
					switch {
					case newer == nil:
						require.NoError(t, err, "no other process was granted the lock")
						newer = s.takeOver(t, old)
						require.NoError(t, s.guard.Seal(t.Context(), newer))
						s.work(t, newer)
					case seal.waits:
						require.NoError(t, seal.wait())
						s.work(t, newer)
					}
					if err != nil {
						assert.Equal(t, "S2", sch.name)
						assert.True(t, errors.Is(err, fence.ErrStale) || errors.Is(err, fence.ErrRetry) || errors.Is(err, rowlock.ErrLost), "%v", err)
					}
					assert.False(t, s.violated(t), "the old holder's error: %v", err)
				})
			}
		}
	})
}

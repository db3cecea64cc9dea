package fence_test

import (
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

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

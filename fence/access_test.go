package fence_test

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

// If a table of the fence is missing, the error names the table and the command that creates it.
func TestAMissingTableSaysWhatToDo(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		lease := s.lease(t, "r")
		guard := s.engine.guard(s.db, fence.Table("nowhere"))
		tx := s.begin(t, sql.LevelDefault)
		checked := guard.Check(lease.Context(), tx)
		require.NoError(t, tx.Rollback())
		sealed := guard.Seal(t.Context(), lease)
		for _, err := range []error{sealed, checked} {
			var schema *fence.SchemaError
			require.ErrorAs(t, err, &schema)
			assert.Equal(t, "nowhere", schema.Table)
			assert.ErrorContains(t, err, "nowhere_fence")
			assert.ErrorContains(t, err, "rowlock migrate up")
		}

		require.NoError(t, s.guard.Seal(t.Context(), lease))
		s.exec(t, "DROP TABLE rowlock_lease_outcome")
		err := s.guard.Tx(lease.Context(), func(context.Context, *sql.Tx) error { return nil })
		var schema *fence.SchemaError
		require.ErrorAs(t, err, &schema)
		assert.ErrorContains(t, err, "rowlock_lease_outcome")
		require.NoError(t, s.guard.Check(lease.Context(), s.begin(t, sql.LevelDefault)), "does not need it")
	})
}

// A fence table may have any name, in upper and lower case. Fences with different tables in one database are
// independent.
func TestATableOfAnyName(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		require.NoError(t, migrations.Up(t.Context(), s.db, s.dialect, migrations.Table("Jobs_SELECT")))
		guard := s.engine.guard(s.db, fence.Table("Jobs_SELECT"))
		old, newer := s.two(t)
		require.NoError(t, guard.Seal(t.Context(), newer))
		s.work(t, old)
		require.ErrorIs(t, guard.Check(old.Context(), s.begin(t, sql.LevelDefault)), fence.ErrStale)
	})
}

// A guard with an invalid option returns an error from Validate and from each call.
func TestOptionsThatCannotWork(t *testing.T) {
	t.Parallel()
	s := sqliteWAL.fresh(t)
	lease := s.lease(t, "r")
	for name, g := range map[string]*fence.Guard{
		"the database handle is nil": fence.Postgres(nil), "handle is nil": fence.Pgx(nil), "database handle": fence.MySQL(nil), "is nil": fence.SQLite(nil),
		`table "a; DROP TABLE b"`: fence.SQLite(s.db, fence.Table("a; DROP TABLE b")),
	} {
		require.ErrorContains(t, g.Validate(), name)
		require.ErrorContains(t, g.Uncheck(t.Context(), nil), name)
		require.ErrorContains(t, g.Seal(t.Context(), lease), name)
		require.ErrorContains(t, g.Check(lease.Context(), &sql.Tx{}), name)
		require.ErrorContains(t, g.Tx(lease.Context(), nil), name)
		require.ErrorContains(t, g.TxPgx(lease.Context(), nil), name)
	}
	require.NoError(t, s.guard.Validate())
}

// as returns a connection pool of a new database user. The parameter privileges lists the user's privileges on the
// fence table and the outcome table. The parameter onLocks lists those on the lock table.
func (s *store) as(t *testing.T, privileges string, onLocks ...string) *sql.DB {
	t.Helper()
	user := "u" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")[:12]
	if s.dialect == migrations.Postgres {
		s.exec(t, "CREATE ROLE "+user+" LOGIN")
		t.Cleanup(func() {
			_, err := s.db.ExecContext(context.Background(), "DROP OWNED BY "+user+"; DROP ROLE "+user)
			require.NoError(t, err)
		})
		s.exec(t, "GRANT "+privileges+" ON rowlock_lease_fence, rowlock_lease_outcome TO "+user)
		for _, p := range onLocks {
			s.exec(t, "GRANT "+p+" ON rowlock_lease TO "+user)
			if p != "SELECT" { // the user releases locks, and a release notifies the oldest waiter
				s.exec(t, "GRANT SELECT ON rowlock_lease_waiter TO "+user)
			}
		}
		u, err := url.Parse(s.dsn)
		require.NoError(t, err)
		u.User = url.User(user)
		return s.open(t, u.String())
	}
	config, err := mysqldriver.ParseDSN(s.dsn)
	require.NoError(t, err)
	s.exec(t, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 'Secret-1'")
	t.Cleanup(func() {
		_, err := s.db.ExecContext(context.Background(), "DROP USER '"+user+"'@'%'")
		require.NoError(t, err)
	})
	for _, table := range []string{"rowlock_lease_fence", "rowlock_lease_outcome"} {
		s.exec(t, "GRANT "+privileges+" ON `"+config.DBName+"`."+table+" TO '"+user+"'@'%'")
	}
	for _, p := range onLocks {
		s.exec(t, "GRANT "+p+" ON `"+config.DBName+"`.rowlock_lease TO '"+user+"'@'%'")
	}
	config.User, config.Passwd = user, "Secret-1"
	return s.open(t, config.FormatDSN())
}

// Seal, Check and Tx need only SELECT, INSERT and UPDATE on the fence table and the outcome table.
// If a privilege is missing, the error says so.
func TestFewPrivilegesAreNeeded(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			guard := e.guard(s.as(t, "SELECT, INSERT, UPDATE"))
			nothing := func(context.Context, *sql.Tx) error { return nil }
			for range 2 {
				lease := s.lease(t, "r")
				require.NoError(t, guard.Seal(t.Context(), lease))
				require.NoError(t, guard.Tx(lease.Context(), nothing))
			}
			readers := s.as(t, "SELECT")
			reader := e.guard(readers)
			newest := s.lease(t, "r")
			require.ErrorContains(t, reader.Seal(t.Context(), newest), "privilege")
			require.NoError(t, guard.Seal(t.Context(), newest))
			require.ErrorContains(t, reader.Tx(newest.Context(), nothing), "privilege")
			tx, err := readers.BeginTx(t.Context(), nil)
			require.NoError(t, err)
			defer tx.Rollback() //nolint:errcheck // it changes nothing
			if err := reader.Check(newest.Context(), tx); s.dialect == migrations.Postgres {
				require.ErrorContains(t, err, "privilege")
			} else {
				require.NoError(t, err, "LOCK IN SHARE MODE needs only SELECT")
			}
		})
	}
}

// A user that may seal may also list and reset. Prune needs DELETE as well, and SELECT on the lock table.
func TestPrivilegesOfAnOperator(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			lease := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), lease, "r", "unused"))
			sealer := e.guard(s.as(t, "SELECT, INSERT, UPDATE"))
			list, err := e.guard(s.as(t, "SELECT")).Marks(t.Context(), "", false)
			require.NoError(t, err)
			require.Len(t, list, 2)
			require.NoError(t, sealer.Reset(t.Context(), "", "r", lease.Token()))

			s.grow(t, 2*day)
			for _, few := range []*fence.Guard{
				sealer, e.guard(s.as(t, "SELECT, INSERT, UPDATE", "SELECT")), e.guard(s.as(t, "SELECT, UPDATE, DELETE")),
			} {
				_, err := few.Prune(t.Context(), day)
				require.ErrorContains(t, err, "privilege")
			}
			n, err := e.guard(s.as(t, "SELECT, UPDATE, DELETE", "SELECT")).Prune(t.Context(), day)
			require.NoError(t, err)
			require.Equal(t, 2, n)
		})
	}
}

// CheckHeld also needs SELECT on the lease table. ReleaseOnCommit also needs UPDATE on three columns of the lease
// table.
func TestFewPrivilegesAreNeededForCheckHeld(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.keepLocks()
			const marks = "SELECT, INSERT, UPDATE"
			lease := s.sealed(t)
			hold := func(db *sql.DB) error {
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				defer tx.Rollback()
				return e.guard(db).CheckHeld(lease.Context(), tx)
			}
			nothing := func(context.Context, *sql.Tx) error { return nil }
			require.ErrorContains(t, hold(s.as(t, marks)), "privilege")
			reader := s.as(t, marks, "SELECT")
			require.NoError(t, hold(reader))
			require.ErrorContains(t, e.guard(reader).ReleaseOnCommit(lease.Context(), nothing), "privilege")
			require.NoError(t, lease.Err())
			columns := "nonce, expires_at, held_until, done"
			if s.dialect == migrations.Postgres { // the release notifies the oldest waiter
				columns += ", reserved_for"
			}
			require.NoError(t, e.guard(s.as(t, marks, "SELECT, UPDATE ("+columns+")")).ReleaseOnCommit(lease.Context(), nothing))
		})
	}
}

package sqllock_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// If the lease table is missing, the error of every call names the command to run. No call creates a table.
func TestAMissingTableSaysWhatToDo(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		outdated(t, "nowhere", everyCall(t, s, s.connect(sqllock.Table("nowhere"))))
		outdated(t, "nowhere", everyCall(t, s, s.connect(sqllock.Table("nowhere"))))
	})
}

// If the lease table is older than the library, the error of every call names the command to run.
func TestAnOldTableSaysWhatToDo(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		s.exec(t, "ALTER TABLE rowlock_lease DROP COLUMN note")
		s.exec(t, "ALTER TABLE rowlock_lease DROP COLUMN held_until")
		outdated(t, s.table, everyCall(t, s, s.open()))
	})
}

// If only the column of the ticks is missing, the error of each call that uses this column names the command to run.
func TestATableWithoutTicksSaysWhatToDo(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		s.exec(t, "ALTER TABLE rowlock_lease DROP COLUMN done")
		calls := everyCall(t, s, s.open())
		outdated(t, s.table, map[string]error{"acquire": calls["acquire"], "release": calls["release"], "list": calls["list"], "inspect": calls["inspect"]})
	})
}

// If the meta table has no row, the error of every call names the command to run.
func TestAMissingMetaRowSaysWhatToDo(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		s.exec(t, "DELETE FROM rowlock_lease_meta")
		calls := everyCall(t, s, s.open())
		outdated(t, s.table, map[string]error{"acquire": calls["acquire"], "in transaction": calls["in transaction"]})
	})
}

// Two lease tables in one database are independent, and the case of their names is kept.
func TestATableOfAnyName(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		name := fmt.Sprintf("Jobs_%s_SELECT", s.table)
		require.NoError(t, migrations.Up(t.Context(), s.raw, s.dialect, migrations.Table(name)))
		other, b := s.connect(sqllock.Table(name)), s.open()
		g := acquire(t, other, request("job"))
		acquire(t, b, request("job"))
		require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, other, g))
		require.Equal(t, []driver.Outcome{driver.Lost}, renew(t, b, g))
		require.NoError(t, other.Release(t.Context(), g))
		n, err := other.Prune(t.Context(), 0)
		require.NoError(t, err)
		require.Equal(t, 1, n)
	})
}

// A backend with invalid options reports the reason in its Capabilities and in each call, and sends nothing.
func TestOptionsThatCannotWork(t *testing.T) {
	for name, b := range map[string]*sqllock.Backend{
		"no database": sqllock.Postgres(nil),
		"no pool":     sqllock.Pgx(nil),
		"no file":     sqllock.SQLite(nil),
		"no server":   sqllock.MySQL(nil),
		"bad table":   sqllock.SQLite(openSQLite(t, ":memory:"), sqllock.Table("a; DROP TABLE b")),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Acquire(t.Context(), request("job"))
			require.True(t, driver.IsPermanent(err))
			_, err = b.Renew(t.Context(), []driver.Grant{{}})
			require.True(t, driver.IsPermanent(err))
			require.True(t, driver.IsPermanent(b.Release(t.Context(), driver.Grant{})))
			_, err = b.List(t.Context(), "", true)
			require.True(t, driver.IsPermanent(err))
			c := b.Capabilities()
			require.Error(t, c.Invalid)
			c.Invalid = nil
			require.Equal(t, driver.Capabilities{}, c, "it promises nothing")
		})
	}
}

// Capabilities describes each backend correctly.
func TestCapabilitiesAreDeclared(t *testing.T) {
	eachBackend(t, func(t *testing.T, s *store) {
		c := s.open().Capabilities()
		assert.Contains(t, c.Backend, "sqllock/")
		assert.Equal(t, driver.LinearizableToken, c.Token)
	})
}

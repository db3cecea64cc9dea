package mysqlock

import (
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
)

// LockName returns the same names in every version, because other programs use them with GET_LOCK.
func TestLockNameVectors(t *testing.T) {
	t.Parallel()
	for _, v := range []struct{ schema, namespace, name, want string }{
		{"app", "", "nightly-report", "rowlock:037b5843a20e03fadb5e9de88cc3e2aca8bab2e96b7e87190c7f7140"},
		{"app", "billing", "nightly-report", "rowlock:01041fcc588b63e8d6e9492cd2f736ef359e1f96c38fa23baaf32530"},
		{"app", "", "Nightly-Report ", "rowlock:2bd1ddfb326b210115619ec50493a70eb3f0e0ef230aa16d0f159bc0"},
		{"other", "", "Grüße, 世界", "rowlock:36f1424be212ce9aec22cce1f2696c76cd085ab6934e5f0a9028906a"},
	} {
		got := LockName(v.schema, v.namespace, v.name)
		assert.Equal(t, v.want, got, "%q %q %q", v.schema, v.namespace, v.name)
		assert.Len(t, got, 64)
		assert.Equal(t, strings.ToLower(got), got)
	}
}

// Two names that differ only in case or in trailing spaces are two locks, on MySQL and on MariaDB,
// although the two servers compare lock names differently.
func TestCaseAndTrailingSpace(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t))
		for _, name := range []string{"job", "Job", "job ", " job", "jöb", "job\t"} {
			grant(t, b, name)
			_, err := New(s.open(t)).Acquire(limited(t), request(name))
			refused(t, err)
		}
	})
}

// Two schemas of one server have separate locks. If the table's name contains a schema, the locks belong to that
// schema. Otherwise they belong to the connection's schema.
func TestTwoSchemas(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		other := s.schema + "_other"
		_, err := s.raw.Exec("CREATE DATABASE " + other)
		require.NoError(t, err)
		t.Cleanup(func() { _, _ = s.raw.Exec("DROP DATABASE " + other) })
		there := s.open(t, func(c *mysqldriver.Config) { c.DBName = other })
		require.NoError(t, migrations.Up(t.Context(), there, migrations.MySQL))
		here := New(s.open(t))
		grant(t, here, "a")
		grant(t, New(there), "a")
		_, err = New(s.open(t), Table(other+".rowlock_lease")).Acquire(limited(t), request("a"))
		refused(t, err)
		status, err := New(s.open(t), Table(other+".rowlock_lease")).Inspect(limited(t), driver.Key{Name: "a"})
		require.NoError(t, err)
		assert.Equal(t, "tester", status.Holder)

		nowhere := s.open(t, func(c *mysqldriver.Config) { c.DBName = "" })
		_, err = New(nowhere).Acquire(limited(t), request("a"))
		require.ErrorContains(t, err, "put one into the DSN")
		assert.True(t, driver.IsPermanent(err))
		grant(t, New(nowhere, Table(other+".rowlock_lease")), "b")
	})
}

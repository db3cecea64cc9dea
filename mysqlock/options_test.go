package mysqlock

import (
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqltable"
)

// rowlock.New returns an error that names the invalid option of a backend.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	db := openDB(t, "root@tcp(127.0.0.1:1)/app")
	db.SetMaxOpenConns(3)
	for want, b := range map[string]*Backend{
		"handle is nil":                  New(nil),
		"Sessions(-1): want at least 1":  New(db, Sessions(-1)),
		"Sessions(4): the pool allows 3": New(db, Sessions(4)),
		`table "a b"`:                    New(db, Table("a b")),
	} {
		_, err := rowlock.New(b)
		require.ErrorContains(t, err, want)
		_, err = b.Acquire(t.Context(), request("a"))
		assert.True(t, driver.IsPermanent(err))
		_, err = b.List(t.Context(), "", true)
		assert.True(t, driver.IsPermanent(err))
	}
	assert.Equal(t, 1, New(db).locks.Most, "half of the pool")
}

// Acquire rejects the options MinHold and HandoverDelay, with an error that names the option. Both delay the next
// grant after a release, but a session lock is free as soon as it is released.
func TestOptionsThatASessionCannotKeep(t *testing.T) {
	t.Parallel()
	l, err := rowlock.New(New(openDB(t, "root@tcp(127.0.0.1:1)/app")))
	require.NoError(t, err)
	defer l.Close()
	for name, option := range map[string]rowlock.Option{"MinHold": rowlock.MinHold(ttl), "HandoverDelay": rowlock.HandoverDelay(ttl)} {
		_, err := l.Acquire(t.Context(), "a", option)
		require.ErrorContains(t, err, name+"(")
	}
}

// A backend refuses to lock on a server in a cluster, and on a server whose binary log does not carry the tokens. The
// error says what to do. With the option SingleWriter or NoToken, the backend locks on such a server. The test
// supplies the server's settings, because the test servers are not in a cluster.
func TestClusters(t *testing.T) {
	t.Parallel()
	db := openDB(t, "root@tcp(127.0.0.1:1)/app")
	galera := map[string]string{"wsrep_on": "ON"}
	several := map[string]string{"group_replication_group_name": "G", "group_replication_single_primary_mode": "OFF"}
	single := map[string]string{"group_replication_group_name": "G", "group_replication_single_primary_mode": "ON", "wsrep_on": "OFF", "binlog_format": "ROW", "log_bin": "ON"}
	log := map[string]string{"log_bin": "ON", "binlog_format": "STATEMENT"}
	for want, settings := range map[string]map[string]string{"Galera": galera, "several primaries": several, "NoToken": log} {
		err := New(db).checkCluster(settings)
		require.ErrorContains(t, err, want)
		assert.True(t, driver.IsPermanent(err))
	}
	require.NoError(t, New(db).checkCluster(single))
	require.NoError(t, New(db).checkCluster(map[string]string{"log_bin": "OFF", "binlog_format": "STATEMENT"}))
	require.NoError(t, New(db, SingleWriter()).checkCluster(galera))
	require.NoError(t, New(db, SingleWriter()).checkCluster(several))
	require.NoError(t, New(db, NoToken()).checkCluster(log))
}

// A backend refuses to lock on sessions without autocommit, because the token would not be committed.
func TestAutocommitOff(t *testing.T) {
	onBoth(t, func(t *testing.T, s *store) {
		b := New(s.open(t, func(c *mysqldriver.Config) { c.Params = map[string]string{"autocommit": "0"} }))
		_, err := b.Acquire(limited(t), request("a"))
		require.ErrorContains(t, err, "autocommit is off")
		assert.True(t, driver.IsPermanent(err))
		idle(t, b)
	})
}

// Each SQL file begins with a comment that states its parameters, result and promise. In each statement,
// only the table's name is replaced.
func TestStatementsSayWhatTheyPromise(t *testing.T) {
	t.Parallel()
	table, err := sqltable.Parse("ops.jobs")
	require.NoError(t, err)
	entries, err := sqlFiles.ReadDir("sql")
	require.NoError(t, err)
	for _, e := range entries {
		text, err := sqlFiles.ReadFile("sql/" + e.Name())
		require.NoError(t, err)
		assert.Regexp(t, "^-- Parameters: .*\n-- Result: .*\n-- Promise: .*\n[A-Z]", string(text), e.Name())
	}
	statements := load(table)
	assert.Len(t, statements, len(entries))
	for verb, text := range statements {
		assert.NotContains(t, text, "rowlock_lease", verb)
		assert.NotContains(t, text, "--", verb)
	}
}

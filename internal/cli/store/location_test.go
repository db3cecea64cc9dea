package store

import (
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// Every form of a store address can be parsed, and is shown without its password.
func TestLocationIsShownWithoutItsPassword(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]struct {
		dialect migrations.Dialect
		shown   string
	}{
		"sqlite:locks.db":                                    {migrations.SQLite, "sqlite:locks.db"},
		"sqlite:/var/lib/locks.db":                           {migrations.SQLite, "sqlite:/var/lib/locks.db"},
		"sqlite:///var/lib/locks.db":                         {migrations.SQLite, "sqlite:/var/lib/locks.db"},
		"postgres://u:s3cret@h/db":                           {migrations.Postgres, "postgres://u:xxxxx@h/db"},
		"postgresql://u@h:5433/db?sslmode=require":           {migrations.Postgres, "postgresql://u@h:5433/db?sslmode=require"},
		"postgres:///db?host=/run&user=u&password=s3cret":    {migrations.Postgres, "postgres:///db?host=%2Frun&password=xxxxx&user=u"},
		"postgres://u@h/db?sslpassword=s3cret":               {migrations.Postgres, "postgres://u@h/db?sslpassword=xxxxx"},
		"mysql://u:s3cret@h/db":                              {migrations.MySQL, "mysql://u:xxxxx@h/db"},
		"mariadb://u:s3cret@h/db":                            {migrations.MySQL, "mysql://u:xxxxx@h/db"},
		"u:s3cret@tcp(h:3306)/db":                            {migrations.MySQL, "u:xxxxx@tcp(h:3306)/db"},
		"u:s3cret@unix(/run/mysqld/mysqld.sock)/db?tls=true": {migrations.MySQL, "u:xxxxx@unix(/run/mysqld/mysqld.sock)/db?tls=true"},
		"postgres-advisory://u:s3cret@h/db":                  {migrations.Postgres, "postgres-advisory://u:xxxxx@h/db"},
		"postgres-advisory:///db?user=u&password=s3cret":     {migrations.Postgres, "postgres-advisory:///db?password=xxxxx&user=u"},
		"mysql-getlock://u:s3cret@h/db":                      {migrations.MySQL, "mysql-getlock://u:xxxxx@h/db"},
		"mysql-getlock:u:s3cret@tcp(h:3306)/db":              {migrations.MySQL, "mysql-getlock:u:xxxxx@tcp(h:3306)/db"},
		"redis://:s3cret@h/2?prefix=p":                       {0, "redis://:xxxxx@h/2?prefix=p"},
		"redis+cluster://u:s3cret@h:1,[::1]:2":               {0, "redis+cluster://u:xxxxx@h:1,[::1]:2"},
		"etcd://u:s3cret@h1,h2:3/?prefix=p":                  {0, "etcd://u:xxxxx@h1,h2:3/?prefix=p"},
		"redlock://u:s3cret@a,b,c?max_ttl=5m":                {0, "redlock://u:xxxxx@a,b,c?max_ttl=5m"},
		"zks://u:s3cret@a,b/some/root?ca=f":                  {0, "zks://u:xxxxx@a,b/some/root?ca=f"},
	} {
		at, err := parseLocation(store)
		require.NoError(t, err, store)
		assert.Equal(t, want.dialect, at.Dialect, store)
		assert.NotContains(t, at.Shown, "s3cret", store)
		if store[:7] != "mariadb" {
			assert.Equal(t, want.shown, at.Shown, store)
		}
	}
}

// The servers, the account and the options of the address of a store without tables are parsed.
func TestKeyValueLocation(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]KeyValue{
		"redis://h":         {Servers: []string{"h:6379"}},
		"redis://:p@h:1/7/": {Servers: []string{"h:1"}, password: "p", path: "7"},
		"rediss://u:p%40%2F%3F%23@[::1]/0?prefix=a%26b&ca=f": {Servers: []string{"[::1]:6379"}, user: "u", password: "p@/?#", path: "0", query: url.Values{"prefix": {"a&b"}, "ca": {"f"}}},
		"redis+cluster://u@a,b:2/?allow_eviction=true":       {Servers: []string{"a:6379", "b:2"}, user: "u", query: url.Values{"allow_eviction": {"true"}}},
		"redlock://a,b:2,c?max_ttl=2m&node_timeout=50ms":     {Servers: []string{"a:6379", "b:2", "c:6379"}, query: url.Values{"max_ttl": {"2m"}, "node_timeout": {"50ms"}}},
		"zk://u:p@a,b:2/some/root":                           {Servers: []string{"a:2181", "b:2"}, user: "u", password: "p", path: "some/root"},
		"etcd://a,b:2,c":                                     {Servers: []string{"a:2379", "b:2", "c:2379"}},
		"etcds://u:p@a/?cert=c&key=k":                        {Servers: []string{"a:2379"}, user: "u", password: "p", query: url.Values{"cert": {"c"}, "key": {"k"}}},
	} {
		at, err := parseLocation(store)
		require.NoError(t, err, store)
		if want.query == nil {
			want.query = url.Values{}
		}
		got := KeyValue{Servers: at.KeyValue.Servers, user: at.KeyValue.user, password: at.KeyValue.password, path: at.KeyValue.path, query: at.KeyValue.query}
		assert.Equal(t, want, got, store)
		assert.True(t, at.ByName)
	}
}

// A mysql:// URL is translated to a driver configuration with the same server, user and options.
func TestMySQLURLIsTranslated(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"mysql://u:p%40ss%2F@h:3307/db?tls=true&timeout=3s": "u:p@ss/@tcp(h:3307)/db?timeout=3s&tls=true",
		"mysql://u@/db":        "u@tcp(localhost:3306)/db",
		"mysql://h/db":         "tcp(h:3306)/db",
		"mysql://u@[::1]/db":   "u@tcp([::1]:3306)/db",
		"mysql://u@h/db%2Fodd": "u@tcp(h:3306)/db%2Fodd",
	} {
		at, err := parseLocation(store)
		require.NoError(t, err, store)
		assert.Equal(t, want, at.MySQL.FormatDSN(), store)
	}
}

// The address of a store of session locks differs from the address of a store of lease rows only in its scheme. Both
// addresses mean the same server with the same options.
func TestSessionLocationIsThatOfTheLeaseRows(t *testing.T) {
	t.Parallel()
	for store, plain := range map[string]string{
		"postgres-advisory://u:p@h:5433/db?sslmode=require": "postgres://u:p@h:5433/db?sslmode=require",
		"mysql-getlock://u:p@h:3307/db?tls=true":            "mysql://u:p@h:3307/db?tls=true",
		"mysql-getlock:u:p@tcp(h)/db?tls=true":              "u:p@tcp(h)/db?tls=true",
	} {
		at, err := parseLocation(store)
		require.NoError(t, err, store)
		scheme, _, _ := strings.Cut(store, ":")
		assert.Equal(t, scheme, at.Session)
		want, err := parseLocation(plain)
		require.NoError(t, err, plain)
		assert.Empty(t, want.Session, plain)
		at.Session, at.Shown = "", want.Shown
		assert.Equal(t, want, at, store)
	}
}

// The error for an address that cannot be parsed does not repeat the address, because a password may be anywhere in it.
func TestBadLocationIsNotRepeated(t *testing.T) {
	t.Parallel()
	for _, store := range []string{
		"", "s3cret", "http://u:s3cret@h/db", "sqlite:", "sqlite://s3cret/x.db", "sqlite::memory:",
		"postgres://u:s3cret%@h/db", "postgres:u:s3cret@h", "mysql://u:s3cret@h/", "mysql://u:s3cret@h:port/db", "mysql://u:%zzs3cret@h/db",
		"postgres-advisory://u:s3cret%@h/db", "postgres-advisory:u:s3cret@h", "mysql-getlock://u:s3cret@h/", "mysql-getlock:u:s3cret@h/db", "mysql-getlock:s3cret",
		"redis://", "redis:u:s3cret@h", "redis://u:s3cret@", "redis://u:s3cret@h,h2", "redis://u:s3cret@h/s3cret", "redis://u:s3cret@h/-1", "redis://u:s3cret@h/0/1",
		"redis://u:s3cret%zz@h", "redis://u:s3/cret@h", "redis://u:12?s3cret@h", "redis://u:12#s3cret@h", "redis://u:12/s3cret@h", "redis://u:s3cret@h:port", "redis://u:s3cret@a:b:c",
		"redis://h?s3cret=1", "redis://h?prefix=s3cret&prefix=s3cret", "redis://h?allow_eviction=s3cret", "redis://h?replicas=s3cret", "redis://h?replica_wait=s3cret",
		"redis://h?replicas=1&replica_wait=s3cret", "redis://h?ca=s3cret", "redis+cluster://h/1", "redis+cluster://u:s3cret@h,,h2", "redis+cluster://h?%zzs3cret",
		"redlock://a,b,c/s3cret", "redlock://a,b,c?max_ttl=s3cret", "redlock://a,b,c?replicas=s3cret", "zk://u:1/s3cret@h", "zk://u:s3cret@", "zk://h/root?s3cret=1", "zk://h/root?ca=s3cret",
		"etcd://h/s3cret", "etcd://u:s3cret@h:1:2", "etcd://h?prefix=a;s3cret", "etcd://[::1,s3cret", "etcd://h?ca=s3cret",
		"u:s3cret@tcp(h/db", "u:s3cret@tcp(h)/", "u:s3cret@", "u:s3cret@h/db?tls=%%s3cret",
	} {
		_, err := parseLocation(store)
		require.Error(t, err, store)
		assert.NotContains(t, err.Error(), "s3cret", store)
	}
}

// If only the library finds that an option in the address is invalid, the command returns a usage error.
func TestBadKeyValueStoreIsUsage(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"redis://h?prefix=":                            "redislock: Prefix",
		"redis://h?prefix=a":                           "want it to end with a colon",
		"redlock://a,b,c?prefix=a":                     "want it to end with a colon",
		"redis://h?replicas=0&replica_wait=1s":         "redislock: Replicated(0, 1s)",
		"redis+cluster://h?replicas=1&replica_wait=0s": "redislock: Replicated(1, 0s)",
		"redlock://a,b":                                "redlock: New with 2 nodes",
		"redlock://a,b,a":                              "nodes 1 and 3 are both a:6379",
		"redlock://a,b,c?max_ttl=1s&node_timeout=1s":   "NodeTimeout 1s",
		"zk://h/a//b":                                  "zklock: Root",
		"rediss://h?ca=no-such-file":                   "no-such-file",
		"rediss://h?key=file":                          "cert and key belong together",
	} {
		_, err := openValue(t, store)
		require.Equal(t, exit.Usage, exit.Code(err), "%s: %v", store, err)
		require.ErrorContains(t, err, want, store)
	}
}

// If only pgx finds that the address is invalid, the error does not show the password either.
func TestBadPostgresOptionIsToldWithoutThePassword(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"postgres://u:s3cret@h/db?sslmode=perhaps", "postgres://u:s3cret@h:99999999/db",
		"postgres://u:s3cret@h/db?pool_max_conns=many", "postgres://u@h/db?password=s3cret&sslmode=perhaps",
	} {
		at, err := parseLocation(value)
		require.NoError(t, err, value)
		err = (&Store{At: at}).openPostgres(sqllock.Table("rowlock_lease"))
		require.Error(t, err, value)
		assert.Equal(t, exit.Usage, exit.Code(err), value)
		assert.NotContains(t, err.Error(), "s3cret", value)
	}
}

// The default store is in the user's state directory.
func TestDefaultLocation(t *testing.T) {
	t.Parallel()
	at, err := defaultLocation(system.Environment{"XDG_STATE_HOME=/state", "HOME=/home/u"})
	require.NoError(t, err)
	assert.Equal(t, "sqlite:/state/rowlock/locks.db", at.Shown)
	table, err := sqltable.Parse(sqltable.Default)
	require.NoError(t, err)
	assert.Empty(t, (&Store{At: at, Table: table}).Flags(), "a message need not name it")
}

// openValue opens the store for a value of --store.
func openValue(t *testing.T, value string) (*Store, error) {
	t.Helper()
	at, err := Locate(value, nil)
	if err != nil {
		return nil, err
	}
	table, err := sqltable.Parse(sqltable.Default)
	require.NoError(t, err)
	return Open(t.Context(), at, table)
}

// For each kind of store, Excludes describes which processes a lock excludes.
func TestReach(t *testing.T) {
	t.Parallel()
	for store, want := range map[string]string{
		"sqlite:/var/lib/app/locks.db":    "processes of this machine that use this file",
		"postgres://jobs@db/app":          "processes that use this database",
		"jobs@tcp(db)/app":                "processes that use this database",
		"postgres-advisory://jobs@db/app": "processes that use this one server and database",
		"mysql-getlock:jobs@tcp(db)/app":  "processes that use this one server",
		"redis://db":                      "processes that use this server and prefix",
		"redis+cluster://a:1,b:2":         "processes that use this cluster and prefix",
		"redlock://a:1,b:2,c:3?prefix=x":  "processes that use a majority of these servers, and this prefix",
		"etcd://a:1,b:2":                  "processes that use this cluster and prefix",
		"zk://a:1,b:2/root":               "processes that use this ensemble and root",
	} {
		at, err := parseLocation(store)
		require.NoError(t, err, store)
		assert.Equal(t, want, at.Excludes(), store)
	}
}

package sqllock_test

import (
	"database/sql"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() {
	register("mysql", func(t *testing.T) *store { return mysqlStore(t, testenv.MySQL(t), nil) })
	register("mysql-read-committed", func(t *testing.T) *store {
		return mysqlStore(t, testenv.MySQL(t), map[string]string{"transaction_isolation": "'READ-COMMITTED'"})
	})
	register("mariadb", func(t *testing.T) *store { return mysqlStore(t, testenv.MariaDB(t), nil) })
	// innodb_snapshot_isolation is on by default from MariaDB 11.6 on.
	register("mariadb-snapshot-isolation", func(t *testing.T) *store {
		return mysqlStore(t, testenv.MariaDB(t), map[string]string{"innodb_snapshot_isolation": "1"})
	})
}

// mysqlStore returns a store whose backends set these session variables.
func mysqlStore(t *testing.T, dsn string, variables map[string]string) *store {
	t.Helper()
	return &store{
		dialect: migrations.MySQL,
		raw:     openMySQL(t, dsn, variables),
		age:     "UPDATE %[1]s SET %[2]s = %[2]s - INTERVAL %[3]d MICROSECOND",
		connect: func(opts ...sqllock.Option) *sqllock.Backend {
			b := sqllock.MySQL(openMySQL(t, dsn, variables), opts...)
			t.Cleanup(func() { closeIdle(b) })
			return b
		},
		zone: func(offset string, opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.MySQL(openMySQL(t, dsn, map[string]string{"time_zone": "'" + offset + "'"}), opts...)
		},
	}
}

func openMySQL(t *testing.T, dsn string, variables map[string]string) *sql.DB {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	if config.Params == nil {
		config.Params = map[string]string{}
	}
	for name, value := range variables {
		config.Params[name] = value
	}
	connector, err := mysqldriver.NewConnector(config)
	require.NoError(t, err)
	db := sql.OpenDB(connector)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

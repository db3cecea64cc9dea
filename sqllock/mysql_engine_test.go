package sqllock_test

import (
	"context"
	"database/sql"
	"strings"
	"sync"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() {
	register("mysql", migrations.MySQL, mainHandle, func(t *testing.T) *store { return mysqlStore(t, testenv.EngineMySQL, nil) })
	register("mysql-read-committed", migrations.MySQL, otherSettings, func(t *testing.T) *store {
		return mysqlStore(t, testenv.EngineMySQL, map[string]string{"transaction_isolation": "'READ-COMMITTED'"})
	})
	register("mariadb", migrations.MySQL, mainHandle, func(t *testing.T) *store { return mysqlStore(t, testenv.EngineMariaDB, nil) })
	// innodb_snapshot_isolation is on by default from MariaDB 11.6 on.
	register("mariadb-snapshot-isolation", migrations.MySQL, otherSettings, func(t *testing.T) *store {
		return mysqlStore(t, testenv.EngineMariaDB, map[string]string{"innodb_snapshot_isolation": "1"})
	})
}

// sharedSchema is a schema in which each test of eachBackend has tables of its own.
type sharedSchema struct {
	once sync.Once
	dsn  string
	raw  *sql.DB // the pool for the tests' own statements
	err  error
}

var sharedSchemas = map[string]*sharedSchema{testenv.EngineMySQL: {}, testenv.EngineMariaDB: {}}

// schema returns the shared schema on the server of an engine.
func schema(t *testing.T, engine string) *sharedSchema {
	t.Helper()
	dsn, s := testenv.DSN(t, engine), sharedSchemas[engine]
	s.once.Do(func() { s.err = s.make(dsn) })
	require.NoError(t, s.err)
	return s
}

func (s *sharedSchema) make(dsn string) error {
	config, err := mysqldriver.ParseDSN(dsn)
	if err != nil {
		return err
	}
	name := "rowlock_" + strings.ReplaceAll(driver.NewNonce().String(), "-", "")
	admin, err := sql.Open("mysql", dsn)
	if err != nil {
		return err
	}
	admin.SetMaxOpenConns(1)
	atExit(admin.Close)
	if _, err = admin.ExecContext(context.Background(), "CREATE DATABASE "+name); err != nil {
		return err
	}
	atExit(func() error {
		_, err := admin.ExecContext(context.Background(), "DROP DATABASE "+name)
		return err
	})
	config.DBName = name
	s.dsn = config.FormatDSN()
	if s.raw, err = sql.Open("mysql", s.dsn); err == nil {
		s.raw.SetMaxIdleConns(16)
		atExit(s.raw.Close)
	}
	return err
}

// mysqlStore returns a store whose backends set these session variables.
func mysqlStore(t *testing.T, engine string, variables map[string]string) *store {
	t.Helper()
	shared := schema(t, engine)
	raw := shared.raw
	if variables != nil {
		raw = openMySQL(t, shared.dsn, variables)
	}
	return &store{
		dialect: migrations.MySQL,
		raw:     raw,
		age:     "UPDATE %[1]s SET %[2]s = %[2]s - INTERVAL %[3]d MICROSECOND",
		connect: func(opts ...sqllock.Option) *sqllock.Backend {
			b := sqllock.MySQL(openMySQL(t, shared.dsn, variables), opts...)
			t.Cleanup(func() { closeIdle(b) })
			return b
		},
		zone: func(offset string, opts ...sqllock.Option) *sqllock.Backend {
			return sqllock.MySQL(openMySQL(t, shared.dsn, map[string]string{"time_zone": "'" + offset + "'"}), opts...)
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

package mysql

import (
	"context"
	"database/sql"
	"net/url"
	"strings"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

func TestMain(m *testing.M) { leaks.Main(m) }

func on(db *sql.DB) *Backend { return New(db, table(sqltable.Default)) }

func table(name string) sqltable.Table {
	t, err := sqltable.Parse(name)
	if err != nil {
		panic(err)
	}
	return t
}

// inTx locks the name in tx, and waits for at most the duration wait, which is 0 by default.
func inTx(ctx context.Context, b *Backend, tx *sql.Tx, name string, wait ...time.Duration) error {
	var patience time.Duration
	for _, d := range wait {
		patience += d
	}
	return sqlbase.LockInTx(ctx, b, sqlbase.On(tx), driver.Key{Name: name}, patience)
}

// fixture is a new database with the tables, on MySQL or MariaDB.
type fixture struct {
	dsn     string
	mariadb bool
	db      *sql.DB
	*Backend
}

// onMySQLAndMariaDB runs a test on both servers at the same time.
func onMySQLAndMariaDB(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &fixture{dsn: dsn(t), mariadb: name == "mariadb"}
			f.db = f.open(t, nil)
			f.Backend = on(f.db)
			testschema.Install(t, f.db, migrations.MySQL)
			test(t, f)
		})
	}
}

// open returns a pool. The parameters in params are added to its DSN: parameters of the driver and session variables.
func (f *fixture) open(t testing.TB, params map[string]string) *sql.DB {
	t.Helper()
	dsn := f.dsn
	for name, value := range params {
		separator := "?"
		if strings.Contains(dsn, "?") {
			separator = "&"
		}
		dsn += separator + name + "=" + url.QueryEscape(value)
	}
	_, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	db, err := sql.Open("mysql", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	return db
}

// isolation returns the parameter that sets the session's isolation level.
func (f *fixture) isolation(level string) map[string]string {
	name := "transaction_isolation"
	if f.mariadb {
		name = "tx_isolation" // the variable's name until MariaDB 11.1
	}
	return map[string]string{name: "'" + level + "'"}
}

// strict adds the parameter that makes MariaDB refuse to lock rows newer than the snapshot, as it does by default from
// 11.6.2 on.
func (f *fixture) strict(level string) map[string]string {
	params := f.isolation(level)
	if f.mariadb {
		params["innodb_snapshot_isolation"] = "1"
	}
	return params
}

var isolations = []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"}

func (f *fixture) Exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := f.db.ExecContext(limited(t), statement, args...)
	require.NoError(t, err, statement)
}

func (f *fixture) int(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, f.db.QueryRowContext(limited(t), query, args...).Scan(&n), query)
	return n
}

// whileLocked runs the statement in a transaction, and calls the function do while that transaction holds its row
// locks.
func (f *fixture) whileLocked(t testing.TB, statement string, do func()) {
	t.Helper()
	tx, err := f.db.BeginTx(limited(t), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(limited(t), statement)
	require.NoError(t, err, statement)
	do()
	require.NoError(t, tx.Rollback())
}

// limited returns a context that ends later than any successful call, and earlier than the 50 s for which the servers
// wait for a row by default.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 40*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// atOnce calls the function do. It fails the test if the call takes twenty seconds or more, as a call that waits for
// another transaction would. A refused call itself may wait for a second or two.
func atOnce(t testing.TB, do func()) {
	t.Helper()
	start := time.Now()
	do()
	assert.Less(t, time.Since(start), 20*time.Second, "it has waited for a lock")
}

func request(name string) driver.Request {
	return driver.Request{
		Key: driver.Key{Name: name}, Nonce: driver.NewNonce(), TTL: time.Minute, Holder: "host:1", Note: "a test",
	}
}

func mustAcquire(t testing.TB, b driver.Backend, r driver.Request) driver.Grant {
	t.Helper()
	g, err := b.Acquire(limited(t), r)
	require.NoError(t, err)
	return g
}

func requireHeld(t testing.TB, err error, reason driver.Reason) *driver.Held {
	t.Helper()
	var held *driver.Held
	require.ErrorAs(t, err, &held)
	require.Equal(t, reason, held.Reason, "%v", err)
	return held
}

// If the server cannot be reached, the backend does not know its type, and the next call tries to detect the type.
func TestMySQLAsksForTheVersionAgainAfterAFailure(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := f.Acquire(ended, request("a"))
		require.ErrorIs(t, err, context.Canceled)
		assert.True(t, driver.IsNotApplied(err) && !driver.IsPermanent(err))
		mustAcquire(t, f, request("a"))
	})
}

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

package sqllock

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
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
)

// mysqlFixture is a fresh database with the tables, on one of the two servers.
type mysqlFixture struct {
	dsn     string
	mariadb bool
	db      *sql.DB
	*Backend
}

// onMySQLAndMariaDB runs a test on both servers, at the same time.
func onMySQLAndMariaDB(t *testing.T, test func(t *testing.T, f *mysqlFixture)) {
	t.Helper()
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := &mysqlFixture{dsn: dsn(t), mariadb: name == "mariadb"}
			f.db = f.open(t, nil)
			f.Backend = MySQL(f.db)
			testschema.Install(t, f.db, migrations.MySQL)
			test(t, f)
		})
	}
}

// open is a pool with further parameters in its DSN: those of the driver, and session variables.
func (f *mysqlFixture) open(t testing.TB, params map[string]string) *sql.DB {
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

// isolation is the parameter that sets the session's isolation level.
func (f *mysqlFixture) isolation(level string) map[string]string {
	name := "transaction_isolation"
	if f.mariadb {
		name = "tx_isolation" // until 11.1
	}
	return map[string]string{name: "'" + level + "'"}
}

var mysqlIsolations = []string{"READ-UNCOMMITTED", "READ-COMMITTED", "REPEATABLE-READ", "SERIALIZABLE"}

func (f *mysqlFixture) exec(t testing.TB, statement string, args ...any) {
	t.Helper()
	_, err := f.db.ExecContext(limited(t), statement, args...)
	require.NoError(t, err, statement)
}

func (f *mysqlFixture) int(t testing.TB, query string, args ...any) (n int64) {
	t.Helper()
	require.NoError(t, f.db.QueryRowContext(limited(t), query, args...).Scan(&n), query)
	return n
}

// whileLocked calls do while another transaction keeps the locks of a statement.
func (f *mysqlFixture) whileLocked(t testing.TB, statement string, do func()) {
	t.Helper()
	tx, err := f.db.BeginTx(limited(t), nil)
	require.NoError(t, err)
	_, err = tx.ExecContext(limited(t), statement)
	require.NoError(t, err, statement)
	do()
	require.NoError(t, tx.Rollback())
}

// limited is a ctx that outlasts every honest call, and is far shorter than the 50 s that the
// servers wait for a row by default.
func limited(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	t.Cleanup(cancel)
	return ctx
}

// atOnce fails the test if do takes longer than one that waits for nobody can.
func atOnce(t testing.TB, do func()) {
	t.Helper()
	start := time.Now()
	do()
	assert.Less(t, time.Since(start), 10*time.Second, "it has waited for a lock")
}

func mysqlRequest(name string) driver.Request {
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

// The failure to reach a server is not taken for an answer about it: the next call asks again.
func TestMySQLAsksForTheVersionAgainAfterAFailure(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *mysqlFixture) {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_, err := f.Acquire(ended, mysqlRequest("a"))
		require.ErrorIs(t, err, context.Canceled)
		assert.True(t, driver.IsNotApplied(err) && !driver.IsPermanent(err))
		mustAcquire(t, f, mysqlRequest("a"))
	})
}

func contextFor(d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), d)
}

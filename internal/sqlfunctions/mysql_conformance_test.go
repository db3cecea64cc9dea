package sqlfunctions_test

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

func init() { _ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) } // without this, the driver would log each connection that the tests cut

// mysqlServers returns the two servers whose procedures come from the same migrations. In a TestCompat it returns MariaDB
// with snapshot isolation, which is on by default from MariaDB 11.6 on.
func mysqlServers(t *testing.T) map[string]func(testing.TB) string {
	t.Helper()
	if strings.HasPrefix(t.Name(), "TestCompat") {
		return map[string]func(testing.TB) string{
			"mariadb-snapshot": func(tb testing.TB) string { return testenv.MariaDB(tb) + "?innodb_snapshot_isolation=ON" },
		}
	}
	require.Contains(t, snapshotTests, t.Name(), "add the test to the list of TestCompatSnapshotIsolation")
	return map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB}
}

// onBoth runs the test on MySQL and on MariaDB, with a pool for a database with all tables and procedures.
func onBoth(t *testing.T, test func(t *testing.T, db *sql.DB, dsn string)) {
	t.Helper()
	t.Parallel()
	for name, fresh := range mysqlServers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := fresh(t)
			test(t, openMySQL(t, dsn), dsn)
		})
	}
}

// mysqlConfig returns the options of the driver that mysqlBackend needs.
func mysqlConfig(tb testing.TB, dsn string) *mysqldriver.Config {
	tb.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(tb, err)
	config.MultiStatements, config.InterpolateParams = true, true
	return config
}

// openMySQL returns a pool of connections to a database with all tables and procedures.
func openMySQL(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("mysql", mysqlConfig(tb, dsn).FormatDSN())
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	testschema.Install(tb, db, migrations.MySQL)
	testschema.Install(tb, db, migrations.MySQL, migrations.Functions())
	return db
}

// The procedures keep the promises of the driver contract, even if clients die, lose the network, or lose replies.
func TestConformanceOfProcedures(t *testing.T) {
	t.Parallel()
	for name, fresh := range mysqlServers(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, func(tb testing.TB) locktest.Harness {
				dsn := fresh(tb)
				return &mysqlHarness{config: mysqlConfig(tb, dsn), raw: openMySQL(tb, dsn), Clients: faultnet.New(tb)}
			})
		})
	}
}

// mysqlHarness opens backends that connect through proxies, which simulate network faults.
type mysqlHarness struct {
	config *mysqldriver.Config
	raw    *sql.DB

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*mysqlHarness)(nil)
	_ locktest.Expirer      = (*mysqlHarness)(nil)
	_ locktest.Crasher      = (*mysqlHarness)(nil)
	_ locktest.Partitioner  = (*mysqlHarness)(nil)
	_ locktest.ReplyDropper = (*mysqlHarness)(nil)
	_ locktest.Exempter     = (*mysqlHarness)(nil)
)

// Exempt names the cases of the options that the procedures do not have.
func (*mysqlHarness) Exempt() map[string]string {
	cases := new(harness).Exempt()
	cases["leases-are-kept-together"] = "docs/locks-from-sql.md, MySQL and MariaDB: a call renews one lease"
	return cases
}

func (h *mysqlHarness) Open(context.Context) (driver.Backend, error) {
	proxy, err := faultproxy.New(h.config.Addr)
	if err != nil {
		return nil, err
	}
	config := h.config.Clone()
	config.Addr = proxy.Addr()
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		proxy.Close()
		return nil, err
	}
	b := &mysqlBackend{db}
	h.Add(b, func() { _ = db.Close() }, proxy)
	return b, nil
}

func (h *mysqlHarness) Expire(ctx context.Context, key driver.Key) error {
	_, err := h.raw.ExecContext(ctx, `UPDATE rowlock_lease
		   SET held_until = held_until - INTERVAL GREATEST(0, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)) MICROSECOND,
		       expires_at = LEAST(expires_at, UTC_TIMESTAMP(6))
		 WHERE namespace = ? AND name = ?`, key.Namespace, key.Name)
	return err
}

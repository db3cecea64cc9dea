package sqllock_test

import (
	"context"
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func init() { _ = mysqldriver.SetLogger(&mysqldriver.NopLogger{}) } // without this, the driver would log each connection that the tests cut

// On the main handle of every database server, a backend keeps the promises of the driver contract, even if clients die,
// lose the network, or lose replies.
func TestConformance(t *testing.T) {
	conforms(t, map[string]*network{
		"pgx":     {dialect: migrations.Postgres, expire: postgresAge, open: pgxPool, dsn: twice(testenv.Postgres)},
		"mysql":   {dialect: migrations.MySQL, expire: mysqlAge, open: mysqlPool, dsn: twice(testenv.MySQL)},
		"mariadb": {dialect: migrations.MySQL, expire: mysqlAge, open: mysqlPool, dsn: twice(testenv.MariaDB)},
	})
}

// With other handles, other drivers and a pooler, a backend keeps the same promises.
func TestCompatConformance(t *testing.T) {
	conforms(t, map[string]*network{
		"postgres":      {dialect: migrations.Postgres, expire: postgresAge, open: by("pgx"), dsn: twice(testenv.Postgres)},
		"another":       {dialect: migrations.Postgres, expire: postgresAge, open: by(otherdriver.Name), dsn: twice(testenv.Postgres)},
		"pgbouncer":     {dialect: migrations.Postgres, expire: postgresAge, open: by("pgx"), dsn: testenv.PgBouncer, exempt: pooled},
		"pgbouncer-pgx": {dialect: migrations.Postgres, expire: postgresAge, open: pgxPool, dsn: testenv.PgBouncer, exempt: pooled},
	})
}

// pooled are the cases that do not hold through a pooler.
var pooled = map[string]string{
	"parked-waiter-is-quiet":       "PgBouncer delivers no notification in transaction mode, so a waiter polls",
	"missing-right-is-named":       "PgBouncer connects as one account for all clients",
	"missing-right-leaves-nothing": "PgBouncer connects as one account for all clients",
}

func conforms(t *testing.T, servers map[string]*network) {
	t.Helper()
	t.Parallel()
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			if inCompat(t) {
				testenv.Compat(t)
			}
			t.Parallel()
			locktest.Run(t, func(tb testing.TB) locktest.Harness { return server.start(tb) })
		})
	}
}

// These statements make a lease expire.
const (
	postgresAge = "UPDATE rowlock_lease SET expires_at = expires_at - past, held_until = held_until - past FROM " +
		"(SELECT expires_at - clock_timestamp() AS past FROM rowlock_lease WHERE namespace = $1 AND name = $2) p WHERE namespace = $1 AND name = $2 AND past > interval '0'"
	mysqlAge = "UPDATE rowlock_lease SET held_until = held_until - INTERVAL GREATEST(0, TIMESTAMPDIFF(MICROSECOND, UTC_TIMESTAMP(6), expires_at)) MICROSECOND, " +
		"expires_at = LEAST(expires_at, UTC_TIMESTAMP(6)) WHERE namespace = ? AND name = ?"
)

func by(driverName string) func(dsn string) (driver.Backend, func(), error) {
	return func(dsn string) (driver.Backend, func(), error) {
		db, err := sql.Open(driverName, dsn)
		b := sqllock.Postgres(db)
		return b, func() { closeIdle(b); _ = db.Close() }, err
	}
}

func pgxPool(dsn string) (driver.Backend, func(), error) {
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		return nil, nil, err
	}
	b := sqllock.Pgx(pool)
	return b, func() { closeIdle(b); pool.Close() }, nil
}

func mysqlPool(dsn string) (driver.Backend, func(), error) {
	db, err := sql.Open("mysql", dsn)
	b := sqllock.MySQL(db)
	return b, func() { closeIdle(b); _ = db.Close() }, err
}

func twice(dsn func(testing.TB) string) func(testing.TB) (string, string) {
	return func(tb testing.TB) (string, string) {
		one := dsn(tb)
		return one, one
	}
}

// network is a database server whose clients connect through proxies. Each client has a separate proxy that simulates
// network faults.
type network struct {
	dialect migrations.Dialect
	dsn     func(testing.TB) (clients, direct string) // returns the DSNs of a new database
	open    func(dsn string) (driver.Backend, func(), error)
	expire  string
	exempt  map[string]string

	clientDSN string
	raw       *sql.DB
	reader    string // an account that may only read the tables; it has no password on PostgreSQL

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*network)(nil)
	_ locktest.Counter      = (*network)(nil)
	_ locktest.Exempter     = (*network)(nil)
	_ locktest.Limited      = (*network)(nil)
	_ locktest.Expirer      = (*network)(nil)
	_ locktest.Crasher      = (*network)(nil)
	_ locktest.Partitioner  = (*network)(nil)
	_ locktest.ReplyDropper = (*network)(nil)
)

func (n *network) start(tb testing.TB) *network {
	tb.Helper()
	clients, direct := n.dsn(tb)
	driverName := "pgx"
	if n.dialect == migrations.MySQL {
		driverName = "mysql"
	}
	raw, err := sql.Open(driverName, direct)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, raw.Close()) })
	n.clientDSN, n.raw, n.Clients = clients, raw, faultnet.New(tb)
	require.NoError(tb, migrations.Up(context.Background(), raw, n.dialect))
	n.addReader(tb)
	return n
}

const readersPassword = "Secret-1"

// addReader creates the account that may only read the tables.
func (n *network) addReader(tb testing.TB) {
	tb.Helper()
	n.reader = "r" + driver.NewNonce().String()[:8]
	add := []string{"CREATE ROLE " + n.reader + " LOGIN", "GRANT SELECT ON ALL TABLES IN SCHEMA public TO " + n.reader}
	drop := []string{"DROP OWNED BY " + n.reader, "DROP ROLE " + n.reader}
	if n.dialect == migrations.MySQL {
		add = []string{"CREATE USER " + n.reader + "@'%' IDENTIFIED BY '" + readersPassword + "'", "GRANT SELECT ON * TO " + n.reader + "@'%'"}
		drop = []string{"DROP USER " + n.reader + "@'%'"}
	}
	for _, statement := range add {
		_, err := n.raw.ExecContext(context.Background(), statement)
		require.NoError(tb, err)
	}
	tb.Cleanup(func() {
		for _, statement := range drop {
			_, err := n.raw.ExecContext(context.Background(), statement)
			require.NoError(tb, err)
		}
	})
}

// through returns the DSN of the server, with the address of a proxy in it. If user is not empty, the DSN names the
// account that may only read.
func (n *network) through(user string, proxy func(target string) (string, error)) (string, error) {
	if n.dialect == migrations.MySQL {
		cfg, err := mysqldriver.ParseDSN(n.clientDSN)
		if err != nil {
			return "", err
		}
		if user != "" {
			cfg.User, cfg.Passwd = user, readersPassword
		}
		cfg.Addr, err = proxy(cfg.Addr)
		return cfg.FormatDSN(), err
	}
	u, err := url.Parse(n.clientDSN)
	if err != nil {
		return "", err
	}
	if user != "" {
		u.User = url.User(user)
	}
	u.Host, err = proxy(u.Host)
	return u.String(), err
}

// Exempt returns the cases that the handle does not pass, with the reasons.
func (n *network) Exempt() map[string]string { return n.exempt }

func (n *network) Open(context.Context) (driver.Backend, error) { return n.openAs("") }

// OpenLimited opens a client whose account may only read the tables.
func (n *network) OpenLimited(context.Context) (b driver.Backend, missing string, err error) {
	b, err = n.openAs(n.reader)
	return b, "rowlock_lease", err
}

func (n *network) openAs(user string) (driver.Backend, error) {
	var proxy *faultproxy.Proxy
	dsn, err := n.through(user, func(target string) (string, error) {
		var err error
		if proxy, err = faultproxy.New(target); err != nil {
			return "", err
		}
		return proxy.Addr(), nil
	})
	if err != nil {
		return nil, err
	}
	b, closePool, err := n.open(dsn)
	if err != nil {
		proxy.Close()
		return nil, err
	}
	n.Add(b, closePool, proxy)
	return b, nil
}

func (n *network) Expire(ctx context.Context, key driver.Key) error {
	_, err := n.raw.ExecContext(ctx, n.expire, key.Namespace, key.Name)
	return err
}

// The SQLite backend keeps the promises of the driver contract. SQLite has no network, so the harness simulates
// faults inside the process. Each case has a file of its own: a file has one writer, and many cases use short leases. So
// the cases can run at the same time.
func TestConformanceOfSQLite(t *testing.T) {
	t.Parallel()
	for _, name := range conformanceCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := locktest.CheckEach(t.Context(), newFile(t), func(locktest.Result) {}, name)
			var not *locktest.NotRun
			if errors.As(err, &not) {
				t.Skip(not.Reason)
			}
			require.NoError(t, err)
		})
	}
}

// conformanceCases returns the names of all cases. On a harness that opens no client, every case ends at once.
func conformanceCases() (names []string) {
	_ = locktest.CheckEach(context.Background(), closed{}, func(r locktest.Result) { names = append(names, r.Case) })
	return names
}

type closed struct{}

func (closed) Open(context.Context) (driver.Backend, error) { return nil, errors.New("closed") }

// newFile returns a harness with a new SQLite file.
func newFile(t *testing.T) *inprocess.Harness {
	t.Helper()
	path := url.URL{Path: filepath.Join(t.TempDir(), "locks.db")}
	dsn := "file:" + path.EscapedPath() + "?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)"
	raw := openSQLite(t, dsn)
	testschema.Install(t, raw, migrations.SQLite)
	return &inprocess.Harness{
		Connect: func() (inprocess.Store, func() error, error) {
			db, err := sql.Open("sqlite", dsn)
			return sqllock.SQLite(db), db.Close, err
		},
		End: func(ctx context.Context, key driver.Key) error {
			_, err := raw.ExecContext(ctx, "UPDATE rowlock_lease SET held_until = held_until - (expires_at - now), expires_at = now "+
				"FROM (SELECT CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER) * 1000 AS now) WHERE namespace = ? AND name = ? AND expires_at > now", key.Namespace, key.Name)
			return err
		},
	}
}

package advisory_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

// The backend keeps the driver contract with each kind of pool and pooler, also when clients die, are cut off,
// or lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, way := range map[string]struct {
		open   opener
		opts   []advisory.Option
		pooler string // the kind of pooler in session mode, or empty for a direct connection
		exempt map[string]string
	}{
		"pgx":            {open: openPgx},
		"stdlib":         {open: openSQL("pgx")},
		"another-driver": {open: openSQL(otherdriver.Name)},
		"one-session": {open: openPgx, opts: []advisory.Option{advisory.Sessions(1)}, exempt: map[string]string{
			"writer-is-not-passed":                 "a waiter polls if no connection is left for waiting, and has no place in the server's queue",
			"writer-that-gives-up-lets-readers-in": "a waiter polls if no connection is left for waiting, and has no place in the server's queue",
		}},
		"pgx-no-token":    {open: openPgx, opts: []advisory.Option{advisory.NoToken()}},
		"stdlib-no-token": {open: openSQL("pgx"), opts: []advisory.Option{advisory.NoToken()}},
		"pgbouncer":       {open: openPgx, opts: []advisory.Option{advisory.SessionPooler()}, pooler: testserver.PgBouncer},
		"pgbouncer_new":   {open: openSQL("pgx"), opts: []advisory.Option{advisory.SessionPooler()}, pooler: testserver.NewPgBouncer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			addr := ""
			if way.pooler != "" {
				addr = sessionPooler(t, way.pooler)
			}
			open := func(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error) {
				return way.open(dsn, append(opts, way.opts...)...)
			}
			locktest.Run(t, func(tb testing.TB) locktest.Harness {
				n := newNetwork(tb, open)
				n.exempt = way.exempt
				if addr != "" {
					n.dsn = by(tb, addr, n.dsn)
				}
				return n
			})
		})
	}
}

type opener func(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error)

func openPgx(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error) {
	pool, err := pgxpool.New(context.Background(), dsn)
	if err != nil {
		return nil, nil, err
	}
	return advisory.New(pool, opts...), pool.Close, nil
}

func openSQL(driverName string) opener {
	return func(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error) {
		db, err := sql.Open(driverName, dsn)
		return advisory.NewDB(db, opts...), func() { _ = db.Close() }, err
	}
}

// network is a PostgreSQL database for the conformance test. Each client connects through its own fault-injecting
// proxy.
type network struct {
	open opener
	dsn  string
	raw  *sql.DB

	exempt map[string]string

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*network)(nil)
	_ locktest.Expirer      = (*network)(nil)
	_ locktest.Crasher      = (*network)(nil)
	_ locktest.Partitioner  = (*network)(nil)
	_ locktest.ReplyDropper = (*network)(nil)
)

func newNetwork(tb testing.TB, open opener) *network {
	tb.Helper()
	n := &network{open: open, dsn: database(tb)}
	n.raw, n.Clients = openDB(tb, n.dsn), faultnet.New(tb)
	return n
}

// database makes a database with the sequence of tokens, and returns its DSN.
func database(tb testing.TB) string {
	tb.Helper()
	dsn := testenv.Postgres(tb)
	migrate(tb, dsn)
	return dsn
}

func migrate(tb testing.TB, dsn string) {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(tb, err)
	defer db.Close()
	require.NoError(tb, migrations.Up(context.Background(), db, migrations.Postgres))
}

func openDB(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	return db
}

// through starts a proxy in front of the database of dsn, and returns the DSN that leads through the proxy.
func through(dsn string) (string, *faultproxy.Proxy, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		return "", nil, err
	}
	p, err := faultproxy.New(u.Host)
	if err != nil {
		return "", nil, err
	}
	u.Host = p.Addr()
	return u.String(), p, nil
}

// Exempt returns the conformance cases that cannot pass with the backend's options, with the reasons.
func (n *network) Exempt() map[string]string { return n.exempt }

func (n *network) Open(context.Context) (driver.Backend, error) {
	dsn, proxy, err := through(n.dsn)
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

// Expire ends the session that holds key, and waits until the server has ended that session.
func (n *network) Expire(ctx context.Context, key driver.Key) error {
	return terminate(ctx, n.raw, advisory.Key(key.Namespace, key.Name))
}

const holdersOf = here + " AND (classid::bigint << 32) | objid::bigint = $1"

func terminate(ctx context.Context, db *sql.DB, key int64) error {
	if _, err := db.ExecContext(ctx, "SELECT pg_terminate_backend(pid)"+holdersOf, key); err != nil {
		return err
	}
	for {
		left := 0
		if err := db.QueryRowContext(ctx, "SELECT count(*)"+holdersOf, key).Scan(&left); err != nil || left == 0 {
			return err
		}
		time.Sleep(time.Millisecond) // polls, because the server does not notify other clients when a session ends
	}
}

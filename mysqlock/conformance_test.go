package mysqlock

import (
	"context"
	"database/sql"
	"fmt"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

// The backend keeps the driver contract on MySQL and on MariaDB, also when clients die, are cut off, or lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	for name, server := range map[string]*network{
		"mysql":            {fresh: testenv.MySQL},
		"mariadb":          {fresh: testenv.MariaDB},
		"one-session":      {fresh: testenv.MariaDB, opts: []Option{Sessions(1)}},
		"interpolating":    {fresh: testenv.MySQL, params: "interpolateParams=true&clientFoundRows=true"},
		"mysql-no-token":   {fresh: testenv.MySQL, opts: []Option{NoToken()}},
		"mariadb-no-token": {fresh: testenv.MariaDB, opts: []Option{NoToken()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			locktest.Run(t, func(tb testing.TB) locktest.Harness { return server.start(tb) })
		})
	}
}

// network is a database server for the conformance test. Each client connects through its own fault-injecting proxy.
type network struct {
	fresh  func(testing.TB) string
	params string
	opts   []Option

	store
	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*network)(nil)
	_ locktest.Expirer      = (*network)(nil)
	_ locktest.Crasher      = (*network)(nil)
	_ locktest.Partitioner  = (*network)(nil)
	_ locktest.ReplyDropper = (*network)(nil)
)

// Exempt implements [locktest.Exempter].
func (n *network) Exempt() map[string]string {
	return map[string]string{"inspector-counts-waiters": "the server does not show which sessions wait for a GET_LOCK without a privilege"}
}

func (n *network) start(tb testing.TB) *network {
	tb.Helper()
	n.store = newStore(tb, n.fresh)
	n.Clients = faultnet.New(tb)
	return n
}

func (n *network) Open(context.Context) (driver.Backend, error) {
	config, err := mysqldriver.ParseDSN(n.dsn + "?" + n.params)
	if err != nil {
		return nil, err
	}
	proxy, err := faultproxy.New(config.Addr)
	if err != nil {
		return nil, err
	}
	config.Addr = proxy.Addr()
	db, err := sql.Open("mysql", config.FormatDSN())
	if err != nil {
		return nil, err
	}
	b := New(db, n.opts...)
	n.Add(b, func() { _ = db.Close() }, proxy) // returns an error because connections are broken
	return b, nil
}

// Expire ends the session that holds key. It returns when the server has ended the session and the holder has noticed
// that. If the holder sent a statement before it noticed, the outcome of that statement would be unknown.
func (n *network) Expire(ctx context.Context, key driver.Key) error {
	heard := n.heard(key)
	if err := n.kill(key); err != nil {
		return err
	}
	select {
	case <-heard:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// heard returns a channel that is closed when the client that holds key has noticed that its session has ended.
func (n *network) heard(key driver.Key) <-chan struct{} {
	for _, client := range n.All() {
		for _, link := range client.(*Backend).locks.Sessions() {
			se := link.(*session)
			if se.Has(func(h *holding) bool { return h.Key == key }) {
				return se.Context().Done()
			}
		}
	}
	closed := make(chan struct{})
	close(closed)
	return closed
}

// store is a new database with the tables, and a separate handle with which the test reads which locks the server
// holds.
type store struct {
	dsn     string
	mariadb bool
	raw     *sql.DB
	schema  string
}

func newStore(tb testing.TB, fresh func(testing.TB) string) store {
	tb.Helper()
	dsn := fresh(tb)
	raw := openDB(tb, dsn)
	require.NoError(tb, migrations.Up(context.Background(), raw, migrations.MySQL))
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(tb, err)
	s := store{dsn: dsn, raw: raw, schema: config.DBName}
	require.NoError(tb, raw.QueryRow("SELECT VERSION() LIKE '%MariaDB%'").Scan(&s.mariadb))
	return s
}

func openDB(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("mysql", dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() }) // returns an error because a test has broken connections
	return db
}

// holder returns the id of the connection that holds key, or 0. It asks the server on a separate session.
func (s *store) holder(key driver.Key) (id int64, err error) {
	err = s.raw.QueryRow("SELECT COALESCE(IS_USED_LOCK(?), 0)", LockName(s.schema, key.Namespace, key.Name)).Scan(&id)
	return id, err
}

// kill ends the connection that holds key.
func (s *store) kill(key driver.Key) error {
	id, err := s.holder(key)
	if err != nil || id == 0 {
		return err
	}
	if _, err := s.raw.Exec(fmt.Sprintf("KILL CONNECTION %d", id)); err != nil {
		return err
	}
	for now := id; now == id && err == nil; { // polls, because the server does not notify other clients when a connection ends
		now, err = s.holder(key)
	}
	return err
}

package mysqlock

import (
	"context"
	"database/sql"
	"strings"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
)

// The backend keeps the driver contract on MySQL and on MariaDB, also when clients die, are cut off, or lose replies.
func TestConformance(t *testing.T) {
	conforms(t, map[string]*network{
		"mysql":   {fresh: testenv.MySQL},
		"mariadb": {fresh: testenv.MariaDB},
	})
}

// The backend keeps the driver contract with one session, with interpolated parameters, and without tokens.
func TestCompatConformance(t *testing.T) {
	conforms(t, map[string]*network{
		"one-session":      {fresh: testenv.MariaDB, opts: []Option{Sessions(1)}},
		"interpolating":    {fresh: testenv.MySQL, params: "interpolateParams=true&clientFoundRows=true"},
		"mysql-no-token":   {fresh: testenv.MySQL, opts: []Option{NoToken()}},
		"mariadb-no-token": {fresh: testenv.MariaDB, opts: []Option{NoToken()}},
	})
}

func conforms(t *testing.T, servers map[string]*network) {
	t.Helper()
	t.Parallel()
	for name, server := range servers {
		t.Run(name, func(t *testing.T) {
			if strings.HasPrefix(t.Name(), "TestCompat") {
				testenv.Compat(t)
			}
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

package advisory_test

import (
	"context"
	"database/sql"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
)

// The backend keeps the driver contract over a pgx pool, also when clients die, are cut off, or lose replies.
func TestConformance(t *testing.T) {
	conforms(t, map[string]handle{"pgx": {open: openPgx}})
}

// The backend keeps the driver contract with each other kind of pool and with poolers, with one session, and without
// tokens.
func TestCompatConformance(t *testing.T) {
	conforms(t, map[string]handle{
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
	})
}

// handle is how a backend reaches the server.
type handle struct {
	open   opener
	opts   []advisory.Option
	pooler string // the kind of pooler in session mode, or empty for a direct connection
	exempt map[string]string
}

func conforms(t *testing.T, handles map[string]handle) {
	t.Helper()
	t.Parallel()
	for name, of := range handles {
		t.Run(name, func(t *testing.T) {
			if inCompat(t) {
				testenv.Compat(t)
			}
			t.Parallel()
			addr := ""
			if of.pooler != "" {
				addr = sessionPooler(t, of.pooler)
			}
			open := func(dsn string, opts ...advisory.Option) (*advisory.Backend, func(), error) {
				return of.open(dsn, append(opts, of.opts...)...)
			}
			locktest.Run(t, func(tb testing.TB) locktest.Harness {
				n := newNetwork(tb, open)
				n.exempt = of.exempt
				if addr != "" {
					n.dsn = by(tb, addr, n.dsn)
				}
				return n
			})
		})
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

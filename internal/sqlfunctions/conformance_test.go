// Package sqlfunctions_test checks the functions by which SQL sessions use the locks in PostgreSQL:
// migrations/functions.
package sqlfunctions_test

import (
	"context"
	"database/sql"
	"net/url"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/migrations"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// The functions keep the promises of the driver contract, even if clients die, lose the network, or lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness {
		h := &harness{dsn: testenv.Postgres(tb), Clients: faultnet.New(tb)}
		h.raw = open(tb, h.dsn)
		return h
	})
}

// open returns a pool of connections to a database with all tables and functions.
func open(tb testing.TB, dsn string) *sql.DB {
	tb.Helper()
	db, err := sql.Open("pgx", dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { require.NoError(tb, db.Close()) })
	testschema.Install(tb, db, migrations.Postgres)
	testschema.Install(tb, db, migrations.Postgres, migrations.Functions())
	return db
}

// harness opens backends that connect through proxies, which simulate network faults.
type harness struct {
	dsn string
	raw *sql.DB

	*faultnet.Clients
}

var (
	_ locktest.Closer       = (*harness)(nil)
	_ locktest.Expirer      = (*harness)(nil)
	_ locktest.Crasher      = (*harness)(nil)
	_ locktest.Partitioner  = (*harness)(nil)
	_ locktest.ReplyDropper = (*harness)(nil)
	_ locktest.Exempter     = (*harness)(nil)
)

// Exempt names the cases of the options that the functions do not have.
func (h *harness) Exempt() map[string]string {
	const why = "docs/locks-from-sql.md, Limits: the functions have no minimum hold and no hand-over delay"
	return map[string]string{"minimum-hold": why, "hand-over-delay": why, "no-hand-over-delay-after-release": why}
}

func (h *harness) Open(context.Context) (driver.Backend, error) {
	at, err := url.Parse(h.dsn)
	if err != nil {
		return nil, err
	}
	proxy, err := faultproxy.New(at.Host)
	if err != nil {
		return nil, err
	}
	at.Host = proxy.Addr()
	db, err := sql.Open("pgx", at.String())
	if err != nil {
		proxy.Close()
		return nil, err
	}
	b := &backend{db}
	h.Add(b, func() { _ = db.Close() }, proxy)
	return b, nil
}

func (h *harness) Expire(ctx context.Context, key driver.Key) error {
	_, err := h.raw.ExecContext(ctx, `UPDATE rowlock_lease SET expires_at = expires_at - past, held_until = held_until - past
		FROM (SELECT expires_at - clock_timestamp() AS past FROM rowlock_lease WHERE namespace = $1 AND name = $2) p
		WHERE namespace = $1 AND name = $2 AND past > interval '0'`, key.Namespace, key.Name)
	return err
}

// Package sqlfunctions_test checks the functions by which SQL sessions use the locks in PostgreSQL:
// migrations/functions.
package sqlfunctions_test

import (
	"context"
	"database/sql"
	"os"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/locktest/stdio"
	"github.com/rowlock/rowlock/migrations"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// The functions keep the promises of the driver contract, even if clients die, lose the network, or lose replies. The
// clients are programs that call the functions, and use nothing else of rowlock.
func TestConformance(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness {
		dsn := testenv.Postgres(tb)
		python, err := testserver.Python(tb.Context(), testserver.Options{Logf: tb.Logf})
		if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
			tb.Skip(err)
		}
		require.NoError(tb, err)
		programs, err := stdio.New(dsn, python, "testdata/functions.py")
		require.NoError(tb, err)
		h := &harness{programs, open(tb, dsn)}
		tb.Cleanup(func() { require.NoError(tb, h.CloseAll()) })
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

// harness starts a program for each client, and makes leases expire.
type harness struct {
	*stdio.Harness
	raw *sql.DB
}

var (
	_ locktest.Expirer  = (*harness)(nil)
	_ locktest.Exempter = (*harness)(nil)
)

// Exempt names the cases of the options that the functions do not have.
func (h *harness) Exempt() map[string]string {
	const why = "docs/locks-from-sql.md, Guarantees: the functions have no minimum hold and no hand-over delay"
	return map[string]string{"minimum-hold": why, "hand-over-delay": why, "no-hand-over-delay-after-release": why}
}

func (h *harness) Expire(ctx context.Context, key driver.Key) error {
	_, err := h.raw.ExecContext(ctx, `UPDATE rowlock_lease SET expires_at = expires_at - past, held_until = held_until - past
		FROM (SELECT expires_at - clock_timestamp() AS past FROM rowlock_lease WHERE namespace = $1 AND name = $2) p
		WHERE namespace = $1 AND name = $2 AND past > interval '0'`, key.Namespace, key.Name)
	return err
}

package sqllock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
)

// A crash of the server ends no lease, and lets no token fall.
func TestLeasesOutliveARestart(t *testing.T) {
	t.Parallel()
	for engine, of := range map[string]struct {
		dialect migrations.Dialect
		open    func(dsn string) (driver.Backend, func(), error)
	}{
		testserver.Postgres: {migrations.Postgres, pgxPool},
		testserver.MySQL:    {migrations.MySQL, mysqlPool},
		testserver.MariaDB:  {migrations.MySQL, mysqlPool},
	} {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			testenv.DSN(t, engine) // skips the test if the server's programs are not installed
			server, err := testserver.Start(t.Context(), engine, testserver.Options{Durable: true})
			require.NoError(t, err)
			t.Cleanup(server.Stop)
			n := &network{dialect: of.dialect, open: of.open, dsn: twice(func(testing.TB) string { return server.DSN })}
			n.start(t)
			n.raw.SetMaxIdleConns(0) // a restart cuts idle connections
			faultnet.Survives(t, n, server)
		})
	}
}

package fence_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// ownPostgres starts a server that only this test uses.
func ownPostgres(t *testing.T) (*testserver.Server, *store) {
	t.Helper()
	testenv.DSN(t, testserver.Postgres) // skips the test on a machine that cannot start a server
	server, err := testserver.Start(t.Context(), testserver.Postgres, testserver.Options{Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(server.Stop)
	own := postgres
	own.dsn = func(*testing.T) string { return server.DSN }
	return server, own.fresh(t)
}

// Promise: on PostgreSQL, a checked transaction that was prepared (PREPARE TRANSACTION) blocks a newer seal until the
// transaction is committed or rolled back. The prepared transaction blocks the seal even after a crash and recovery of
// the server.
func TestAPreparedTransactionHoldsTheMarkOverARestart(t *testing.T) {
	t.Parallel()
	server, s := ownPostgres(t)
	old, newer := s.two(t)
	s.prepared(t, old)
	s.untilSealWaits(t, newer)

	server.Kill()
	require.NoError(t, server.Restart(t.Context()))
	require.Eventually(t, func() bool { return s.db.PingContext(t.Context()) == nil }, waitLimit, waitStep)
	s.untilSealWaits(t, newer)

	seal := s.startSeal(t, newer)
	require.True(t, seal.waits)
	s.exec(t, "COMMIT PREPARED 'p'")
	require.NoError(t, seal.wait())
	s.work(t, newer)
	require.False(t, s.violated(t), "the successor has seen the prepared write")
}

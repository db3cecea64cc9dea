package fence_test

import (
	"testing"

	"github.com/stretchr/testify/require"
)

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

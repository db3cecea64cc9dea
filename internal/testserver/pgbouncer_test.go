package testserver

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// A pooler accepts clients again soon after the server behind it was restarted. The launcher's settings are needed
// for that: by default PgBouncer refuses all clients for fifteen seconds after a failed login.
func TestCompatAPoolerComesBackWithItsServer(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	testenv.DSN(t, NewPgBouncer) // skips the test if testservers could not start this server
	behind, err := Start(t.Context(), Postgres, Options{Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(behind.Stop)
	pooler, err := Start(t.Context(), NewPgBouncer, Options{Postgres: behind.DSN, Logf: t.Logf})
	require.NoError(t, err)
	t.Cleanup(pooler.Stop)
	answers := func() bool {
		// A time limit is necessary: while the server is down, the pooler lets some clients wait instead of refusing
		// them.
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := queryPostgres(ctx, pooler.DSN, "SELECT 'up'")
		return err == nil
	}
	require.True(t, answers())
	behind.Kill()
	require.Eventually(t, func() bool { return !answers() }, time.Minute, 10*time.Millisecond)
	require.NoError(t, behind.Restart(t.Context()))
	require.Eventually(t, answers, time.Minute, 10*time.Millisecond)
}

package etcdlock_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
)

// mortal is a network whose server can be restarted.
type mortal struct {
	*network
	server *testserver.Server
}

var _ locktest.Restarter = mortal{}

func (m mortal) Restart(ctx context.Context) error {
	m.server.Kill()
	return m.server.Restart(ctx)
}

// A crash of the server ends no lease, and lets no token fall.
func TestLeasesOutliveARestart(t *testing.T) {
	t.Parallel()
	s := aloneWith(t, testserver.Options{})
	h := mortal{newNetwork(t, s.DSN), s}
	require.NoError(t, locktest.CheckEach(t.Context(), h, func(locktest.Result) {}, "restart-keeps-tokens", "restart-keeps-leases"))
}

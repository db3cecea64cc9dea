package zklock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/testserver"
)

// A crash of the server ends no lease, and lets no token fall.
func TestLeasesOutliveARestart(t *testing.T) {
	server(t) // skips the test if the launcher could not start a server
	s, err := testserver.Start(t.Context(), testserver.ZooKeeper, testserver.Options{})
	require.NoError(t, err)
	t.Cleanup(s.Stop)
	faultnet.Survives(t, newNetwork(t, s.Addr), s)
}

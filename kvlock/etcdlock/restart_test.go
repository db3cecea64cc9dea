package etcdlock_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/internal/testserver"
)

// A crash of the server ends no lease, and lets no token fall.
func TestLeasesOutliveARestart(t *testing.T) {
	t.Parallel()
	s := aloneWith(t, testserver.Options{})
	faultnet.Survives(t, newNetwork(t, s.DSN), s)
}

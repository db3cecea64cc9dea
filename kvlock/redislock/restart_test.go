package redislock_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/faultnet"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// If a server has the setting "appendfsync always", a crash ends no lease, and lets no token fall.
func TestLeasesOutliveARestart(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "--appendonly", "yes", "--appendfsync", "always")
	faultnet.Survives(t, single(t, "redis://"+s.Addr, redislock.DefaultPrefix, true), s)
}

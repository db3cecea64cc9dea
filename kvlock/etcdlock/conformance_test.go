package etcdlock_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/locktest"
)

// One node passes the conformance suite, in which clients die, are cut off, and lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newNetwork(tb, server(tb)) })
}

// The previous minor release of etcd also passes the conformance suite, on one node and on three. If that release is
// not cached, the test builds it, which takes 15 seconds.
func TestCompatConformanceOfThePreviousRelease(t *testing.T) {
	t.Parallel()
	t.Run("one", func(t *testing.T) {
		testenv.Compat(t)
		t.Parallel()
		locktest.Run(t, func(tb testing.TB) locktest.Harness {
			s := aloneWith(tb, testserver.Options{Version: testserver.EtcdOldVersion})
			isOld(tb, s.DSN)
			return newNetwork(tb, s.DSN)
		})
	})
	t.Run("three", func(t *testing.T) {
		testenv.Compat(t)
		t.Parallel()
		locktest.Run(t, func(tb testing.TB) locktest.Harness {
			nodes := endpoints(clusterOf(tb, testserver.EtcdOldVersion))
			isOld(tb, nodes...)
			return newNetwork(tb, nodes...)
		})
	})
}

func isOld(tb testing.TB, nodes ...string) {
	tb.Helper()
	for _, n := range nodes {
		status, err := connect(tb, n).Status(tb.Context(), n)
		require.NoError(tb, err)
		require.Equal(tb, testserver.EtcdOldVersion, "v"+status.Version)
	}
}

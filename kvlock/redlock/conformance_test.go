package redlock_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/locktest"
)

// Redlock passes the conformance suite on three servers. In the suite, clients die, are cut off, and lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	// Several cases wait until a lease is older than the NodeTimeout.
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newFleet(tb, 3, shortly, forLong) })
}

// Redlock passes the conformance suite on five servers, too.
func TestCompatConformanceOfFive(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newFleet(tb, 5, steadily, forLong) })
}

func BenchmarkConformance(b *testing.B) {
	locktest.Bench(b, func(tb testing.TB) locktest.Harness { return newFleet(tb, 3, steadily) })
}

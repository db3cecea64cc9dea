package zklock_test

import (
	"testing"

	"github.com/rowlock/rowlock/locktest"
)

// One server passes the conformance suite, in which clients die, are cut off, and lose replies.
func TestConformance(t *testing.T) {
	t.Parallel()
	locktest.Run(t, func(tb testing.TB) locktest.Harness { return newNetwork(tb, server(tb)) })
}

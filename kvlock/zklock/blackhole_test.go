package zklock_test

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/faultnet"
)

// blackHoles cuts clients off from all servers. Each holder's context must end before the name is granted again.
func blackHoles(t *testing.T, servers []string) {
	t.Helper()
	n := newNetwork(t, servers...)
	faultnet.BlackHoles(t, lockerOn(t, n.watching), func(name string) (*rowlock.Lease, func() error, error) {
		b, err := n.open()
		if err != nil {
			return nil, nil, err
		}
		return atLast(t, lockerOn(t, b, rowlock.TTL(time.Second)), name), func() error { return n.Cut(b) }, nil
	})
}

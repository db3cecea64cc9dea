package etcdlock_test

import (
	"testing"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/faultnet"
)

// When the network drops all packets between client and cluster, the holder's context always ends before the name is
// granted again. The session's etcd lease lasts two whole seconds, which is the lock's TTL of 1777 ms plus an eighth.
// With a shorter TTL, rounding up would make the etcd lease longer than needed, and the test easier to pass.
func TestABlackHoleNeverMakesTwoHolders(t *testing.T) { onOneNode(t, aBlackHoleNeverMakesTwoHolders) }
func TestCompatABlackHoleNeverMakesTwoHolders(t *testing.T) {
	onThreeNodes(t, aBlackHoleNeverMakesTwoHolders)
}

func aBlackHoleNeverMakesTwoHolders(t *testing.T, n *network) {
	faultnet.BlackHoles(t, lockerOn(t, n.watching), func(name string) (*rowlock.Lease, func() error, error) {
		b, err := n.open()
		if err != nil {
			return nil, nil, err
		}
		lease, err := lockerOn(t, b, rowlock.TTL(1777*time.Millisecond)).Acquire(t.Context(), name)
		return lease, func() error { return n.Cut(b) }, err
	})
}

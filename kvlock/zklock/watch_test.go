package zklock

import "testing"

// Events on one connection arrive in the order in which they happened. So their order shows whether the waiter's own
// node existed longer than the other node. If the watch on its own node was set on another connection, the waiter must
// ask the server.
func TestOrderIsThatOfOneConnection(t *testing.T) {
	const before, now = 1, 2
	for stood, want := range map[int]bool{0: false, before: false, now: true} {
		mine, other := &watch{fired: make(chan struct{}), stood: stood}, &watch{fired: make(chan struct{}), stood: now}
		s := &session{connections: now, watches: map[string]*watch{"mine": mine, "other": other}}
		s.fire("other", true)
		if got := s.outlived(mine, other); got != want {
			t.Errorf("node read on connection %d: %t, want %t", stood, got, want)
		}
		s.fire("mine", true)
		if s.outlived(mine, other) {
			t.Errorf("node read on connection %d: but the waiter's own node was deleted too", stood)
		}
	}
}

// A deletion may be reported for a watch that was set on an earlier connection. An earlier change of that node, such as
// a pause, may then not have been reported. So the next waiter reads the node from the server instead of relying on the
// watch.
func TestDeletionAcrossConnectionsIsLookedAt(t *testing.T) {
	for _, stood := range []int{0, 1} {
		mine, other := &watch{fired: make(chan struct{}), stood: 2}, &watch{fired: make(chan struct{}), stood: stood}
		s := &session{connections: 2, watches: map[string]*watch{"mine": mine, "other": other}}
		s.fire("other", true)
		if s.outlived(mine, other) {
			t.Errorf("node read on connection %d, deletion reported on the second: treated as a release", stood)
		}
	}
}

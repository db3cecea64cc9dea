package zklock

import "testing"

// What is told on one connection is told in the order in which it happened, and what was told on another is not
// part of it: whether the own node stood longer is then to be asked.
func TestOrderIsThatOfOneConnection(t *testing.T) {
	const before, now = 1, 2
	for stood, want := range map[int]bool{0: false, before: false, now: true} {
		mine, other := &watch{fired: make(chan struct{}), stood: stood}, &watch{fired: make(chan struct{}), stood: now}
		s := &session{connections: now, watches: map[string]*watch{"mine": mine, "other": other}}
		s.fire("other", true)
		if got := s.outlived(mine, other); got != want {
			t.Errorf("seen on connection %d: %t, want %t", stood, got, want)
		}
		s.fire("mine", true)
		if s.outlived(mine, other) {
			t.Errorf("seen on connection %d: it is gone as well", stood)
		}
	}
}

// That a node is gone, told of a watch that was set on another connection, may be all that is left of a change
// before it: a pause. So whoever is next asks.
func TestDeletionAcrossConnectionsIsLookedAt(t *testing.T) {
	for _, stood := range []int{0, 1} {
		mine, other := &watch{fired: make(chan struct{}), stood: 2}, &watch{fired: make(chan struct{}), stood: stood}
		s := &session{connections: 2, watches: map[string]*watch{"mine": mine, "other": other}}
		s.fire("other", true)
		if s.outlived(mine, other) {
			t.Errorf("seen on connection %d, told on the second: taken for a release", stood)
		}
	}
}

package postgres

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// in returns a row in the given state. If rows in that state have a waiter, the function also returns the waiter, and
// counts in the result woken how often the waiter is woken.
func in(state rowState) (r *row, w *waiter, woken *int) {
	r, woken = newRow(driver.Key{Name: "a"}, ""), new(int)
	w = &waiter{func() { *woken++ }}
	r.state = state
	if r.hasWaiters() {
		r.waiters[w] = struct{}{}
	} else {
		r.gone = make(chan struct{})
	}
	return r, w, woken
}

func ended(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// The states of a row change as the table in row.go says.
func TestStatesOfARow(t *testing.T) {
	events := map[string]func(*row, *waiter){
		"is written":            func(r *row, _ *waiter) { r.wrote() },
		"granted":               func(r *row, _ *waiter) { r.granted() },
		"refused":               func(r *row, _ *waiter) { r.refused(false, false) },
		"refused and not there": func(r *row, _ *waiter) { r.refused(true, false) },
		"refused and there":     func(r *row, _ *waiter) { r.refused(true, true) },
		"the last one leaves":   func(r *row, w *waiter) { r.leave(w) },
		"somebody waits":        func(r *row, _ *waiter) { r.join(&waiter{func() {}}) },
		"withdrawn":             func(r *row, _ *waiter) { r.forsake() },
		"between two ticks":     func(r *row, _ *waiter) { r.remove(false) },
		"at a tick": func(r *row, _ *waiter) {
			if !r.refresh() {
				r.remove(true)
			}
		},
	}
	for event, to := range map[string][]rowState{
		//                       unwritten  listed  aside       passedOver  expected    unwanted
		"is written":            {listed, listed, listed, passedOver, expected, unwanted, deleting},
		"granted":               {aside, aside, aside, passedOver, passedOver, unwanted, deleting},
		"refused":               {unwritten, listed, aside, unwanted, expected, unwanted, deleting},
		"refused and not there": {unwritten, aside, aside, unwanted, expected, unwanted, deleting},
		"refused and there":     {unwritten, listed, listed, expected, expected, unwanted, deleting},
		"the last one leaves":   {unwanted, unwanted, passedOver, passedOver, expected, unwanted, deleting},
		"somebody waits":        {unwritten, listed, aside, unwritten, listed, unwritten}, // no entry for deleting, because a new row replaces a row that is being deleted
		"withdrawn":             {unwritten, listed, aside, passedOver, unwanted, unwanted, deleting},
		"between two ticks":     {unwritten, listed, aside, passedOver, expected, deleting, deleting},
		"at a tick":             {unwritten, listed, listed, deleting, deleting, deleting, deleting},
	} {
		for from, want := range to {
			r, w, _ := in(rowState(from))
			events[event](r, w)
			assert.Equal(t, want, r.state, "%s from %d", event, from)
		}
	}
}

// After a refusal, the process writes its row again only if no release can notify the row as it is.
func TestARowIsWrittenAnew(t *testing.T) {
	for from := unwritten; from <= deleting; from++ {
		for _, looked := range []bool{false, true} {
			r, _, _ := in(from)
			assert.Equal(t, from == aside || from == listed && looked, r.refused(looked, false), "from %d, looked %t", from, looked)
		}
		r, _, _ := in(from)
		assert.False(t, r.refused(true, true), "from %d", from)
	}
}

// If a row was notified while it had no waiter, the next waiter that joins the row is woken. A waiter that joins a
// row in the state expected does not write the row.
func TestWhoComesBackToARow(t *testing.T) {
	for from, writes := range map[rowState]bool{passedOver: true, expected: false, unwanted: true} {
		r, _, _ := in(from)
		gone := r.gone
		r.hear(heardCall, nil)
		n := 0
		assert.Equal(t, writes, r.join(&waiter{func() { n++ }}), "from %d", from)
		assert.Equal(t, 1, n, "from %d", from)
		assert.True(t, ended(gone), "from %d: somebody still waits for the deletion", from)
	}
}

// The last waiter that leaves a row waits until the row is deleted, unless no release can notify the row any more.
func TestWhoLeavesARow(t *testing.T) {
	for from, waits := range map[rowState]bool{unwritten: true, listed: true, aside: false} {
		r, w, woken := in(from)
		second := &waiter{func() {}}
		r.join(second)
		require.Nil(t, r.leave(second), "another waits")
		r.hear(heardGrant, nil)
		assert.Equal(t, 1, *woken)
		assert.Equal(t, waits, r.leave(w) != nil, "from %d", from)
		assert.Equal(t, heardNothing, r.heard, "what was said to who has left")
	}
}

// A waiter that withdraws its request waits until no release can grant it, even if the row is being deleted already.
func TestWhoWithdrawsWaitsForTheDeletion(t *testing.T) {
	for from := unwritten; from <= deleting; from++ {
		r, _, _ := in(from)
		assert.Equal(t, from >= expected, r.forsake() != nil, "from %d", from)
	}
}

// A release can still notify a row that is being deleted. The next waiter gets a new row in its place. A release by
// this process does not choose the old row, and a notification for the old row wakes the new waiter.
func TestTheRowBesideOneThatIsBeingDeleted(t *testing.T) {
	var s waiters
	s.listener.state = listenPolling // prevents the start of a listener
	key := driver.Key{Name: "a"}
	first := &waiter{func() {}}
	dying, _, _ := s.join(key, first)
	gone := s.leave(dying, first)
	w, idle := s.due(false, true, func() {})
	require.False(t, idle)
	require.Equal(t, []*row{dying}, w.remove)

	woken := 0
	next, write, fresh := s.join(key, &waiter{func() { woken++ }})
	assert.True(t, write && fresh && next != dying)
	pass, crowded := s.released(key)
	assert.Equal(t, dying.id, pass)
	assert.True(t, crowded)
	s.hear(dying.id, heardCall)
	assert.Equal(t, 1, woken)

	s.done(w)
	assert.True(t, ended(gone))
	s.hear(dying.id, heardCall) // delivers a notification that was sent before the deletion
	assert.Equal(t, 2, woken)
}

// A row that is the second of the queue wakes its waiters only after a while, and not if it is notified before.
func TestTheSecondWaiterIsWokenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, woken := in(listed)
		s := &waiters{rows: map[driver.Key]*row{r.key: r}}
		times := func() int {
			synctest.Wait()
			s.mu.Lock()
			defer s.mu.Unlock()
			return *woken
		}
		s.hear(r.id, heardNext)
		time.Sleep(secondChance - time.Millisecond)
		assert.Zero(t, times())
		time.Sleep(2 * time.Millisecond)
		assert.Equal(t, 1, times())
		s.hear(r.id, heardNext)
		s.hear(r.id, heardCall)
		time.Sleep(time.Second)
		assert.Equal(t, 2, times())
	})
}

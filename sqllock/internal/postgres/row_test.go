package postgres

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// in returns a row in a state, with one who waits if the state has any, and counts how often that is woken.
func in(state rowState) (r *row, w *wake, woken *int) {
	r, woken = newRow(driver.Key{Name: "a"}), new(int)
	w = &wake{up: func() { *woken++ }}
	r.state = state
	if r.hasWaiters() {
		r.wakes[w] = struct{}{}
	} else {
		r.gone = make(chan struct{})
	}
	return r, w, woken
}

// Each event leads from each state to the one that is written here.
func TestStatesOfARow(t *testing.T) {
	events := map[string]func(*row, *wake){
		"joins":            func(r *row, _ *wake) { r.join(&wake{up: func() {}}) },
		"leaves":           func(r *row, w *wake) { r.leave(w) },
		"granted":          func(r *row, _ *wake) { r.grant() },
		"refused":          func(r *row, _ *wake) { r.refuse(false) },
		"refused and left": func(r *row, _ *wake) { r.refuse(true) },
	}
	for event, to := range map[string][]rowState{
		//                  unwritten   listed      aside       passedOver  expected    unwanted
		"joins":            {unwritten, listed, aside, unwritten, listed, unwritten},
		"leaves":           {unwanted, unwanted, passedOver, passedOver, expected, unwanted},
		"granted":          {aside, aside, aside, passedOver, passedOver, passedOver},
		"refused":          {unwritten, listed, aside, unwanted, expected, unwanted},
		"refused and left": {unwritten, listed, listed, expected, expected, unwanted},
	} {
		for from, want := range to {
			r, w, _ := in(rowState(from))
			events[event](r, w)
			assert.Equal(t, want, r.state, "%s from %d", event, from)
		}
	}
}

// A row is written anew by who was refused only if nobody would be called by it otherwise.
func TestARowIsWrittenAnew(t *testing.T) {
	for from := unwritten; from <= deleting; from++ {
		for _, left := range []bool{false, true} {
			r, _, _ := in(from)
			assert.Equal(t, from == aside && !left, r.refuse(left), "from %d, left %t", from, left)
		}
	}
}

// Who comes back to a row that was called meanwhile is woken, and one that was expected writes nothing.
func TestWhoComesBackToARow(t *testing.T) {
	for from, writes := range map[rowState]bool{passedOver: true, expected: false, unwanted: true} {
		r, _, _ := in(from)
		gone := r.gone
		r.hear(called)
		n := 0
		assert.Equal(t, writes, r.join(&wake{up: func() { n++ }}), "from %d", from)
		assert.Equal(t, 1, n, "from %d", from)
		select {
		case <-gone:
		default:
			assert.Fail(t, "whoever waits for the deletion of the row waits on", "from %d", from)
		}
	}
}

// The last who leaves waits for the deletion of a row that a release may call, and nobody waits for that of another.
func TestWhoLeavesARow(t *testing.T) {
	for from, waits := range map[rowState]bool{unwritten: true, listed: true, aside: false} {
		r, w, woken := in(from)
		second := &wake{up: func() {}}
		r.join(second)
		require.Nil(t, r.leave(second), "another waits")
		r.hear(granted)
		assert.Equal(t, 1, *woken)
		assert.Equal(t, waits, r.leave(w) != nil, "from %d", from)
		assert.Equal(t, nothing, r.heard, "what was said to who has left")
	}
}

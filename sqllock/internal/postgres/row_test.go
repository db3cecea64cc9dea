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

// waited returns a row with one waiter that was written, and counts in the result woken how often the waiter is woken.
func waited() (r *row, w *waiter, woken *int) {
	r, woken = newRow(driver.Key{Name: "a"}), new(int)
	w = &waiter{func() { *woken++ }}
	r.join(w)
	r.wrote()
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

// A write and a refused request put a row into the queue. A grant takes it out.
func TestARowEntersAndLeavesTheQueue(t *testing.T) {
	r, _, _ := waited()
	assert.True(t, r.queued)
	r.granted()
	assert.False(t, r.queued)
	r.refused(false)
	assert.True(t, r.queued)
	assert.False(t, r.confirmed, "a release at the same time may not have seen the row")
	r.refused(true)
	assert.True(t, r.confirmed)
	r.granted()
	assert.False(t, r.confirmed)
	assert.True(t, r.refresh())
	assert.True(t, r.queued)
	assert.False(t, r.refresh(), "another statement writes the row")
}

// If a row was notified while it had no waiter, the next waiter that joins the row is woken. A waiter does not write
// the row if a request of its own has put the row into the queue.
func TestWhoComesBackToARow(t *testing.T) {
	for _, queued := range []bool{false, true} {
		r, w, _ := waited()
		r.granted()
		require.False(t, r.leave(w))
		if queued {
			r.refused(false)
		}
		r.hear(heardCall, nil)
		n := 0
		assert.Equal(t, !queued, r.join(&waiter{func() { n++ }}))
		assert.Equal(t, 1, n)
		assert.True(t, r.join(&waiter{func() { n++ }}), "the second waiter must know that the row was written")
		assert.Equal(t, 1, n)
	}
}

// When its last waiter leaves, a row is deleted at once, unless no release can choose it.
func TestWhoLeavesARow(t *testing.T) {
	for _, queued := range []bool{false, true} {
		r, w, woken := waited()
		second := &waiter{func() {}}
		r.join(second)
		if !queued {
			r.granted()
		}
		require.False(t, r.leave(second), "another waits")
		r.hear(heardGrant, nil)
		assert.Equal(t, 1, *woken)
		assert.Equal(t, queued, r.leave(w))
		assert.Equal(t, heardNothing, r.heard, "what was said to who has left")
	}
}

// A waiter that withdraws its request before it has called Notify waits until no release can choose its row.
func TestWhoWithdrawsWaitsForTheDeletion(t *testing.T) {
	r, w, _ := waited()
	s := &waiters{rows: map[driver.Key]*row{r.key: r}}
	assert.Nil(t, s.forsake(r.key), "somebody waits")
	r.granted()
	assert.Nil(t, s.leave(r, w))
	assert.Nil(t, s.forsake(r.key), "no release chooses it")
	r.refused(false)
	gone := s.forsake(r.key)
	require.NotNil(t, gone)
	assert.Nil(t, s.forsake(r.key))
	due, idle := s.due(false, true, nil)
	assert.Equal(t, []*row{r}, due.remove)
	assert.False(t, idle)
	assert.False(t, ended(gone))
}

// A row without waiters is deleted at the next tick. A row that is being deleted gets no waiter: the next waiter gets a
// new row.
func TestTheRowBesideOneThatIsBeingDeleted(t *testing.T) {
	var s waiters
	s.listener.state = listenPolling // prevents the start of a listener
	key := driver.Key{Name: "a"}
	first := &waiter{func() {}}
	dying, _ := s.join(key, first)
	dying.granted()
	assert.Nil(t, s.leave(dying, first))
	pass, crowded := s.released(key)
	assert.Equal(t, dying.id, pass)
	assert.True(t, crowded)
	w, idle := s.due(false, true, nil)
	assert.Empty(t, w.remove)
	assert.False(t, idle)
	w, idle = s.due(true, true, nil)
	assert.Equal(t, []*row{dying}, w.remove)
	assert.False(t, idle)

	next, write := s.join(key, &waiter{func() {}})
	assert.True(t, write && next != dying)
	pass, crowded = s.released(key)
	assert.Empty(t, pass)
	assert.True(t, crowded)
}

// A row that is the second of the queue wakes its waiters only after a while, and not if it is notified before.
func TestTheSecondWaiterIsWokenLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _, woken := waited()
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

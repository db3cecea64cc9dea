package sqlite

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

// The file is still watched shortly after the last waiter has left, for a process that soon waits again. Later it is no
// longer watched.
func TestTheWatchOutlivesTheLastWaiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws, key, stops := newWaiters(nil), driver.Key{Name: "job"}, 0
		ws.stopWatch = func() { stops++ }
		w, caller := ws.add(key, func() {}, "")
		ws.remove(key, w, caller)
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		assert.Zero(t, stops, "the next waiter may come soon")
		w, caller = ws.add(key, func() {}, "")
		time.Sleep(time.Minute)
		assert.Zero(t, stops, "a waiter needs the watch")
		ws.remove(key, w, caller)
		time.Sleep(watchLinger)
		synctest.Wait()
		assert.Equal(t, 1, stops)
		assert.Nil(t, ws.stopWatch)
	})
}

package advisory

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// watchedConn is a connection that only waits, and counts its waits.
type watchedConn struct {
	conn
	waits       int
	interrupted chan struct{}
}

func (*watchedConn) watches() bool { return true }
func (c *watchedConn) interrupt()  { c.interrupted <- struct{}{} }
func (c *watchedConn) wait() error {
	c.waits++
	<-c.interrupted
	return nil
}

// A session that is used again within watchDelay starts no goroutine. An unused session is read until it is used.
func TestWatchBeginsAfterADelay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := &watchedConn{interrupted: make(chan struct{})}
		se := &session{conn: c}
		for range 3 {
			se.Watch()
			time.Sleep(watchDelay - 1)
			se.Unwatch()
			se.Unwatch() // has no effect
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		assert.Zero(t, c.waits)
		for n := range 3 {
			se.Watch()
			time.Sleep(watchDelay)
			synctest.Wait()
			assert.Equal(t, n+1, c.waits)
			se.Unwatch()
		}
	})
}

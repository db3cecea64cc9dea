package redislock_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// When the network drops all packets between holder and server, the holder's trust always ends before the server grants
// the name again. The test measures the time between both events on the server's clock, because the next token contains
// that clock's time in microseconds. So delays of this process do not change the result.
func TestABlackHoleNeverMakesTwoHolders(t *testing.T) {
	t.Parallel()
	const trials, ttl = 25, 2500 * time.Millisecond
	s := redistest.Start(t)
	n := single(t, s.DSN, redislock.DefaultPrefix, true)
	other := redistest.LockerOn(t, redislock.New(redistest.Connect(t, s.Addr)))
	var (
		mu               sync.Mutex
		least, most, end time.Duration = time.Hour, -time.Hour, time.Hour
		group            sync.WaitGroup
	)
	for i := range trials {
		group.Go(func() {
			b, err := n.Open(context.Background())
			if !assert.NoError(t, err) {
				return
			}
			name := fmt.Sprint("trial", i)
			_, err = b.(driver.Operator).Inspect(t.Context(), driver.Key{Name: name}) // opens the connection first, which can be slow on a loaded machine
			if !assert.NoError(t, err) {
				return
			}
			lease, err := redistest.LockerOn(t, b, rowlock.TTL(ttl)).Acquire(t.Context(), name)
			if !assert.NoError(t, err) {
				return
			}
			deadline, ended := make(chan time.Time, 1), make(chan time.Time, 1)
			context.AfterFunc(lease.Context(), func() {
				ended <- time.Now()
				deadline <- lease.ExpiresAt()
			})
			time.Sleep(rand.N(ttl / 2)) // cut the network at a random moment before, during or after a renewal
			assert.NoError(t, n.Cut(b))
			next, err := other.Acquire(t.Context(), name)
			if !assert.NoError(t, err) || !assert.ErrorIs(t, lease.Err(), rowlock.ErrLost) || !assert.Error(t, lease.Context().Err()) {
				return
			}
			assert.Greater(t, next.Token(), lease.Token())
			granted := time.UnixMicro(int64(next.Token()))
			mu.Lock()
			defer mu.Unlock()
			margin := granted.Sub((<-deadline).Round(0))
			least, most, end = min(least, margin), max(most, margin), min(end, granted.Sub((<-ended).Round(0)))
		})
	}
	group.Wait()
	t.Logf("%d trials, TTL %s: trust ended %s to %s before the next grant; its context ended at least %s before that grant",
		trials, ttl, least.Round(time.Millisecond), most.Round(time.Millisecond), end.Round(time.Millisecond))
	assert.Positive(t, least)
}

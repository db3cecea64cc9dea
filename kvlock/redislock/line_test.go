package redislock_test

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// person is a waiter for the name "job", with its own backend, as in a separate process.
type person struct {
	*redislock.Backend
	client redis.UniversalClient
	woken  chan struct{}
	stop   func()
}

// line adds n waiters to the queue of "job", and returns them in the order of the queue.
func line(tb testing.TB, n int, open func() redis.UniversalClient, opts ...redislock.Option) []*person {
	tb.Helper()
	all := make([]*person, n)
	for i := range all {
		p := &person{client: open(), woken: make(chan struct{}, 1)}
		p.Backend = redislock.New(p.client, opts...)
		ctx, cancel := context.WithTimeout(context.Background(), redistest.AtMost)
		stop, err := p.Notify(ctx, driver.Key{Name: "job"}, p.wake)
		cancel()
		require.NoError(tb, err)
		tb.Cleanup(stop)
		p.stop, all[i] = stop, p
		assert.Equal(tb, i, p.ask(tb).Ahead)
	}
	return all
}

func (p *person) wake() {
	select {
	case p.woken <- struct{}{}:
	default:
	}
}

func (p *person) drain() {
	select {
	case <-p.woken:
	default:
	}
}

// called waits until p has been notified.
func (p *person) called(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.woken:
	case <-time.After(redistest.AtMost):
		require.FailNow(tb, "was not notified")
	}
}

// ask sends a request of p as a waiter. The lock must be held or reserved, and the method returns the refusal.
func (p *person) ask(tb testing.TB) *driver.Held {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	_, err := p.Acquire(context.Background(), r)
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

// take sends a request of p as a waiter. The lock must be granted.
func (p *person) take(tb testing.TB) driver.Grant {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	return redistest.Acquire(tb, p, r)
}

// refused sends a request of a caller that does not wait. The lock must be held or reserved, and the function returns
// the refusal.
func refused(tb testing.TB, b driver.Backend) *driver.Held {
	tb.Helper()
	_, err := b.Acquire(context.Background(), redistest.Request("job"))
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

const job = redislock.DefaultPrefix + ":job"

// waiters returns the ids of the waiters, in the order of the queue.
func waiters(tb testing.TB, c redis.UniversalClient) []string {
	tb.Helper()
	ids, _ := listed(tb, c.HGetAll(context.Background(), job).Val(), "queue", "w:")
	return ids
}

// queued returns the number of waiters in the queue.
func queued(tb testing.TB, c redis.UniversalClient) int {
	tb.Helper()
	return len(waiters(tb, c))
}

// shiftLife shifts the time until which a waiter counts as alive by the given duration.
func shiftLife(tb testing.TB, c redis.UniversalClient, waiter string, by time.Duration) {
	tb.Helper()
	fields := c.HGetAll(context.Background(), job).Val()
	ids, values := listed(tb, fields, "queue", "w:")
	i := slices.Index(ids, waiter)
	require.GreaterOrEqual(tb, i, 0, "%s is not in the queue", waiter)
	number, alive, ok := strings.Cut(values[i], ":")
	require.True(tb, ok)
	at, err := strconv.ParseInt(alive, 10, 64)
	require.NoError(tb, err)
	shifted := number + ":" + strconv.FormatInt(at+by.Microseconds(), 10)
	for _, name := range []string{"queue", "w:" + waiter} {
		if fields[name] != "" {
			require.NoError(tb, c.HSet(context.Background(), job, name, strings.ReplaceAll(fields[name], " "+values[i], " "+shifted)).Err())
		}
	}
}

// stretch extends a reservation by an hour, because a slow machine may need more than the usual 50 ms.
func stretch(tb testing.TB, c redis.UniversalClient) {
	tb.Helper()
	row := c.HMGet(context.Background(), job, "nonce", "reserved_for", "held_until").Val()
	require.Equal(tb, "", row[0])
	require.NotEqual(tb, "", row[1], "the lock is not reserved")
	until, err := strconv.ParseInt(row[2].(string), 10, 64)
	require.NoError(tb, err)
	require.NoError(tb, c.HSet(context.Background(), job, "held_until", until+time.Hour.Microseconds()).Err())
}

// opener returns a function that opens clients of one server.
func opener(tb testing.TB, addr string) func() redis.UniversalClient {
	return func() redis.UniversalClient { return redistest.Connect(tb, addr) }
}

// clusterOpener returns a function that opens clients of the Cluster of c.
func clusterOpener(tb testing.TB, c *redis.ClusterClient) func() redis.UniversalClient {
	return func() redis.UniversalClient {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Options().Addrs})
		tb.Cleanup(func() { _ = c.Close() })
		return c
	}
}

package redislock_test

import (
	"context"
	"fmt"
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

// person is one who waits for the name "job", with a backend as of a process of its own.
type person struct {
	*redislock.Backend
	client redis.UniversalClient
	woken  chan struct{}
	stop   func()
}

// line is so many who wait, in the order in which they came.
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
		p.drain()
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

// called returns once p has been called.
func (p *person) called(tb testing.TB) {
	tb.Helper()
	select {
	case <-p.woken:
	case <-time.After(redistest.AtMost):
		require.FailNow(tb, "was not called")
	}
}

// ask is a request of a waiter that is refused.
func (p *person) ask(tb testing.TB) *driver.Held {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	_, err := p.Acquire(context.Background(), r)
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

// take is a request of a waiter that is granted.
func (p *person) take(tb testing.TB) driver.Grant {
	tb.Helper()
	r := redistest.Request("job")
	r.Waiting = true
	return redistest.Acquire(tb, p, r)
}

// refused is a request of one that does not wait.
func refused(tb testing.TB, b driver.Backend) *driver.Held {
	tb.Helper()
	_, err := b.Acquire(context.Background(), redistest.Request("job"))
	var held *driver.Held
	require.ErrorAs(tb, err, &held)
	return held
}

const job = redislock.DefaultPrefix + ":job"

// queued is how many wait.
func queued(tb testing.TB, c redis.UniversalClient) (count int) {
	tb.Helper()
	if queue := c.HGet(context.Background(), job, "queue").Val(); queue != "" {
		_, err := fmt.Sscanf(queue, "%s %s %d", new(string), new(string), &count)
		require.NoError(tb, err)
	}
	return count
}

// waiters are the fields of those who wait.
func waiters(tb testing.TB, c redis.UniversalClient) (fields []string) {
	tb.Helper()
	for _, field := range c.HKeys(context.Background(), job).Val() {
		if strings.HasPrefix(field, "w:") {
			fields = append(fields, field)
		}
	}
	return fields
}

// seen moves the moment at which a waiter was last seen.
func seen(tb testing.TB, c redis.UniversalClient, waiter string, by time.Duration) {
	tb.Helper()
	parts := strings.Fields(c.HGet(context.Background(), job, waiter).Val())
	require.Len(tb, parts, 4, "%s does not wait", waiter)
	at, err := strconv.ParseInt(parts[3], 10, 64)
	require.NoError(tb, err)
	parts[3] = strconv.FormatInt(at+by.Microseconds(), 10)
	require.NoError(tb, c.HSet(context.Background(), job, waiter, strings.Join(parts, " ")).Err())
}

// stretch makes the 50 ms for which the name is kept an hour, so that a slow machine does not outlast them.
func stretch(tb testing.TB, c redis.UniversalClient) {
	tb.Helper()
	row := c.HMGet(context.Background(), job, "nonce", "reserved_for", "held_until").Val()
	require.Equal(tb, "", row[0])
	require.NotEqual(tb, "", row[1], "it is kept for nobody")
	until, err := strconv.ParseInt(row[2].(string), 10, 64)
	require.NoError(tb, err)
	require.NoError(tb, c.HSet(context.Background(), job, "held_until", until+time.Hour.Microseconds()).Err())
}

// opener makes clients of one server.
func opener(tb testing.TB, addr string) func() redis.UniversalClient {
	return func() redis.UniversalClient { return redistest.Connect(tb, addr) }
}

// clusterOpener makes clients of the Cluster of which c is one.
func clusterOpener(tb testing.TB, c *redis.ClusterClient) func() redis.UniversalClient {
	return func() redis.UniversalClient {
		c := redis.NewClusterClient(&redis.ClusterOptions{Addrs: c.Options().Addrs})
		tb.Cleanup(func() { _ = c.Close() })
		return c
	}
}

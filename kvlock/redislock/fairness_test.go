package redislock_test

import (
	"slices"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// onOne starts a server, and returns a function that opens backends on it, and a client for its statistics.
func onOne(t *testing.T) (open func() driver.Backend, servers []*redis.Client) {
	t.Helper()
	s := redistest.Start(t)
	return func() driver.Backend {
		c := redis.NewClient(&redis.Options{Addr: s.Addr, ContextTimeoutEnabled: true})
		t.Cleanup(func() { _ = c.Close() })
		return redislock.New(c)
	}, []*redis.Client{redistest.Connect(t, s.Addr)}
}

// Promise 9 of docs/guarantees.md: eight processes acquire and release one name repeatedly, and each is granted at
// least half of its fair share.
func TestNobodyStarves(t *testing.T) {
	open, servers := onOne(t)
	served, requests := redistest.Contest(t, open, servers, 8, 1, 400)
	t.Logf("served %v, %.1f requests per lease", served, requests)
	total := 0
	for _, n := range served {
		total += n
	}
	assert.GreaterOrEqual(t, slices.Min(served), total/len(served)/2)
}

// Promise 9 of docs/guarantees.md: two hundred processes acquire and release one name repeatedly, and each is granted
// at least half of its fair share.
func TestCompatNobodyStarvesOfTwoHundred(t *testing.T) {
	testenv.Compat(t)
	open, servers := onOne(t)
	served, _ := redistest.Contest(t, open, servers, 200, 1, 2000)
	slices.Sort(served)
	t.Logf("served %v", served)
	assert.GreaterOrEqual(t, served[0], 1500/200/2)
}

// Promise 9 of docs/guarantees.md: with a thousand waiters in eight processes, a hand-over costs at most three
// requests.
func TestAThousandWaiters(t *testing.T) {
	open, servers := onOne(t)
	served, requests := redistest.Contest(t, open, servers, 8, 125, 1000)
	t.Logf("served %v, %.1f requests per lease", served, requests)
	assert.LessOrEqual(t, requests, 3.0)
}

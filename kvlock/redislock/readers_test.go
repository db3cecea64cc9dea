package redislock_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// A library counts the current readers and writers of one name. It records a mistake if a new holder must not hold the
// name beside them.
type library struct {
	mu       sync.Mutex
	readers  int
	writers  int
	epoch    rowlock.Token // the token of the readers
	newest   rowlock.Token
	together int // the largest number of readers at the same time
	wrong    []string
}

func (l *library) enter(lease *rowlock.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	token := lease.Token()
	switch {
	case l.writers > 0:
		l.wrong = append(l.wrong, "a lease beside a writer")
	case !lease.Shared() && l.readers > 0:
		l.wrong = append(l.wrong, "a writer beside readers")
	case lease.Shared() && l.readers > 0 && token != l.epoch:
		l.wrong = append(l.wrong, "two tokens in one epoch")
	case l.readers == 0 && token < l.newest, !lease.Shared() && token == l.newest:
		l.wrong = append(l.wrong, "a token that does not rise")
	}
	l.newest = max(l.newest, token)
	if !lease.Shared() {
		l.writers++
		return
	}
	l.epoch = token
	l.readers++
	l.together = max(l.together, l.readers)
}

func (l *library) leave(lease *rowlock.Lease) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if lease.Shared() {
		l.readers--
	} else {
		l.writers--
	}
}

// crowd lets the readers and writers of four processes acquire one name again and again. A writer never holds the name
// at the same time as another holder. All readers between two writers have the same token, and each writer has a
// larger token than the holders before it. Each caller gets all its grants.
func crowd(t *testing.T, open func() redis.UniversalClient) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	const rounds, processes, readers = 25, 4, 3
	l := new(library)
	var wg sync.WaitGroup
	for range processes {
		locker := redistest.LockerOn(t, redislock.New(open()), rowlock.TTL(20*time.Second))
		for i := range readers + 1 {
			wg.Go(func() {
				var opts []rowlock.Option
				if i > 0 {
					opts = append(opts, rowlock.Shared())
				}
				for range rounds {
					lease, err := locker.Acquire(ctx, "job", opts...)
					if !assert.NoError(t, err) {
						return
					}
					l.enter(lease)
					time.Sleep(time.Millisecond)
					l.leave(lease)
					if err := lease.Release(ctx); !errors.Is(err, rowlock.ErrUnknown) { // a slow server may not reply in time
						assert.NoError(t, err)
					}
				}
			})
		}
	}
	wg.Wait()
	assert.Empty(t, l.wrong)
	assert.Greater(t, l.together, 1, "readers share the lock")
	t.Logf("at most %d readers held the lock at the same time", l.together)
	c := open()
	assert.Empty(t, shareFields(t, c))
	require.Zero(t, queued(t, c))
}

func TestReadersAndWriters(t *testing.T) {
	t.Parallel()
	crowd(t, opener(t, redistest.Start(t).Addr))
}

// All readers that wait for one writer hold the lock together soon after the writer's release, also if they are in many
// processes. None of them has to poll: the time between two polls would be up to a second and a half for each.
func TestManyWaitingReadersGetIn(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	open := opener(t, redistest.Start(t).Addr)
	b := redislock.New(open())
	g := redistest.Acquire(t, b, redistest.Request("job"))
	const processes, each = 16, 4
	var wg, all sync.WaitGroup
	all.Add(processes * each)
	for range processes {
		locker := redistest.LockerOn(t, redislock.New(open()))
		for range each {
			wg.Go(func() {
				lease, err := locker.Acquire(ctx, "job", rowlock.Shared())
				all.Done()
				if assert.NoError(t, err) {
					all.Wait() // waits until all readers hold the lock
					assert.NoError(t, lease.Release(ctx))
				}
			})
		}
	}
	require.Eventually(t, func() bool {
		s, err := b.Inspect(ctx, driver.Key{Name: "job"})
		return err == nil && s.Waiters == processes
	}, redistest.AtMost, time.Millisecond)
	require.NoError(t, b.Release(ctx, g))
	began := time.Now()
	all.Wait()
	t.Logf("%d readers in %d processes had the lock %s after the release", processes*each, processes, time.Since(began).Round(time.Millisecond))
	wg.Wait()
}

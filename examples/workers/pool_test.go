package workers_test

import (
	"context"
	"errors"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/examples/workers"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func locker(t *testing.T, store *memlock.Backend) *rowlock.Locker {
	t.Helper()
	l, err := rowlock.New(store, rowlock.TTL(2*time.Second), rowlock.MinHold(time.Minute))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// Three processes run a pass over twenty shards at once. No shard has two workers at a time.
func TestEachShardIsOneProcesss(t *testing.T) {
	store := memlock.New()
	shards := make([]string, 20)
	at := map[string]*atomic.Int32{}
	for i := range shards {
		shards[i] = strconv.Itoa(i)
		at[shards[i]] = &atomic.Int32{}
	}
	type end struct {
		done int
		err  error
	}
	ends := make(chan end)
	for range 3 {
		l := locker(t, store)
		go func() {
			n, err := workers.Pass(t.Context(), l, 4, shards, func(_ context.Context, shard string) error {
				at[shard].Add(1)
				return nil
			})
			ends <- end{n, err}
		}()
	}
	total := 0
	for range 3 {
		e := <-ends
		assert.NoError(t, e.err)
		total += e.done
	}
	assert.Equal(t, 20, total)
	for shard, n := range at {
		assert.Equal(t, int32(1), n.Load(), shard)
	}
}

// If the lock of a shard is lost, the shard does not count as done, and the pass continues. An error of the work ends
// the pass.
func TestAPassEnds(t *testing.T) {
	store := memlock.New()
	l := locker(t, store)
	n, err := workers.Pass(t.Context(), l, 1, []string{"lost", "kept"}, func(ctx context.Context, shard string) error {
		if shard == "lost" {
			store.Lose("shard lost")
			<-ctx.Done()
			return context.Cause(ctx)
		}
		return nil
	})
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	broken := errors.New("broken")
	_, err = workers.Pass(t.Context(), l, 1, []string{"a"}, func(context.Context, string) error { return broken })
	require.ErrorIs(t, err, broken)
}

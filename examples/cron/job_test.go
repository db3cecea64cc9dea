package cron_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	upstream "github.com/robfig/cron/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/examples/cron"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func locker(t *testing.T, store *memlock.Backend) *rowlock.Locker {
	t.Helper()
	l, err := rowlock.New(store)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, l.Close()) })
	return l
}

// Five processes start the same run, one after another. One process does the work, and the other processes return no
// error.
func TestOneProcessRunsAJob(t *testing.T) {
	store, schedule := memlock.New(), upstream.New()
	var said bytes.Buffer
	var ran atomic.Int32
	for range 5 {
		_, err := schedule.AddJob("@daily", cron.Job(t.Context(), locker(t, store), "report", 24*time.Hour, slog.New(slog.NewTextHandler(&said, nil)),
			func(context.Context, *rowlock.Lease) error { ran.Add(1); return nil }))
		require.NoError(t, err)
	}
	for _, entry := range schedule.Entries() {
		entry.WrappedJob.Run()
	}
	assert.Equal(t, int32(1), ran.Load())
	assert.Empty(t, said.String())
}

// A job on a cron schedule runs under its lock. Its ctx ends when the lock is lost, and its error is logged.
func TestALossIsToldAndLogged(t *testing.T) {
	store := memlock.New()
	schedule := upstream.New(upstream.WithSeconds())
	var mu sync.Mutex
	var said bytes.Buffer
	cause := make(chan error, 1)
	_, err := schedule.AddJob("* * * * * *", cron.Job(t.Context(), locker(t, store), "report", time.Second, slog.New(slog.NewTextHandler(&locked{&mu, &said}, nil)),
		func(ctx context.Context, _ *rowlock.Lease) error {
			store.Lose("report")
			<-ctx.Done()
			select {
			case cause <- context.Cause(ctx):
			default:
			}
			return errors.New("cut off")
		}, rowlock.TTL(time.Second)))
	require.NoError(t, err)
	schedule.Start()
	select {
	case err := <-cause:
		require.ErrorIs(t, err, rowlock.ErrLost)
	case <-time.After(20 * time.Second):
		t.Fatal("its ctx did not end")
	}
	<-schedule.Stop().Done()
	mu.Lock()
	defer mu.Unlock()
	assert.Contains(t, said.String(), "cut off")
}

// locked is a buffer that several goroutines can use at the same time.
type locked struct {
	mu *sync.Mutex
	to *bytes.Buffer
}

func (l *locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.to.Write(b)
}

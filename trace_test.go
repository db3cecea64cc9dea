package rowlock_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

// lines is a log that several goroutines write to.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) messages() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var all []string
	for line := range strings.Lines(l.buf.String()) {
		_, msg, _ := strings.Cut(line, `msg="rowlock: `)
		msg, _, _ = strings.Cut(msg, `"`)
		all = append(all, msg)
	}
	return all
}

// Every event is reported once to the trace and once to the log.
func TestEachEventIsReportedOnce(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var log lines
		logger := slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		l := locker(t, store, rowlock.TTL(ttl), rowlock.Logger(logger))

		first := acquire(t, l, "a")
		time.AfterFunc(1500*time.Millisecond, func() { _ = first.Release(background) })
		second, _ := acquireWithin(t, ttl, l, "a")
		synctest.Wait()
		got := log.messages()
		assert.Equal(t, "acquired", got[0])
		assert.Equal(t, []string{"held by other", "waiting"}, got[1:3])
		assert.Contains(t, got, "renewed")
		assert.ElementsMatch(t, []string{"released", "acquired"}, got[len(got)-2:], "a hand-over")

		faults(store, map[memlock.Op]memlock.Fault{memlock.OpRenew: {Fail: context.DeadlineExceeded}})
		until(t, second.Context().Done())
		synctest.Wait()
		got = log.messages()
		assert.Contains(t, got, "renewal failed")
		assert.Equal(t, "lost", got[len(got)-1])
		require.Error(t, second.Release(background))
		synctest.Wait()
		assert.ElementsMatch(t, []string{"released", "unknown outcome resolved"}, log.messages()[len(got):], "a release is sent although the lease is lost")

		store.LoseReply(memlock.OpAcquire)
		ctx, cancel := context.WithTimeout(background, time.Millisecond)
		defer cancel()
		_, err := l.Acquire(ctx, "b")
		require.Error(t, err)
		time.Sleep(20 * time.Second)
		synctest.Wait()
		got = log.messages()
		assert.ElementsMatch(t, []string{"not acquired", "unknown outcome resolved"}, got[len(got)-2:])
	})
}

// A log line contains the name, the token and the holder, because operators search for these values.
func TestLogCarriesNameTokenAndHolder(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var log lines
		l := locker(t, store, rowlock.Namespace("ns"), rowlock.Logger(slog.New(slog.NewTextHandler(&log, nil))))
		lease := acquire(t, l, "a")
		assert.Contains(t, log.buf.String(), "namespace=ns name=a token="+lease.Token().String())
	})
}

// Promise 13 of docs/guarantees.md: without a logger and a trace no event is reported. Functions of a Trace that are
// nil are not called.
func TestNilTraceIsSilent(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l := locker(t, store, rowlock.TTL(ttl), rowlock.Tracing(&rowlock.Trace{}), rowlock.Logger(nil))
		lease := acquire(t, l, "a")
		_, err := l.TryAcquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		time.Sleep(ttl)
		store.Lose("a")
		until(t, lease.Context().Done())
		synctest.Wait()
	})
}

// If a backend returns an invalid grant, the call fails, and the grant is released.
func TestSenselessGrantIsRefused(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		l, err := rowlock.New(tokenless{store})
		require.NoError(t, err)
		defer func() { _ = l.Close() }()
		_, err = l.TryAcquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		synctest.Wait()
		assert.Equal(t, driver.StateFree, list(t, store)[0].State, "and it is released")
	})
}

type tokenless struct{ *memlock.Backend }

func (b tokenless) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.Backend.Acquire(ctx, r)
	g.Token = 0
	return g, err
}

// The table of log lines in docs/observability.md lists every message with its keys, because programs search for these texts.
func TestLogKeysAreDocumented(t *testing.T) {
	text, err := os.ReadFile("docs/observability.md")
	require.NoError(t, err)
	var log bytes.Buffer
	trace := rowlock.LogTrace(slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	failure := errors.New("connection refused")
	trace.Waiting(rowlock.WaitingEvent{})
	trace.Acquired(rowlock.AcquiredEvent{})
	trace.AcquireFailed(rowlock.AcquireFailedEvent{Err: failure})
	trace.HeldByOther(rowlock.HeldByOtherEvent{Held: &rowlock.HeldError{}})
	trace.Renewed(rowlock.RenewedEvent{})
	trace.RenewalFailed(rowlock.RenewalFailedEvent{Err: failure})
	trace.Lost(rowlock.LostEvent{})
	trace.Released(rowlock.ReleasedEvent{Err: failure})
	trace.Resolved(rowlock.ResolvedEvent{})
	trace.Resolved(rowlock.ResolvedEvent{Err: failure})
	lines := 0
	for line := range strings.Lines(log.String()) {
		lines++
		var entry map[string]any
		require.NoError(t, json.Unmarshal([]byte(line), &entry))
		msg := strings.TrimPrefix(entry["msg"].(string), "rowlock: ")
		_, row, found := strings.Cut(string(text), "\n| `"+msg+"` |")
		require.True(t, found, msg)
		row, _, _ = strings.Cut(row, "\n")
		_, row, _ = strings.Cut(row, "| ")
		var keys []string
		for key := range entry {
			if !slices.Contains([]string{"time", "level", "msg", "name", "namespace", "token"}, key) {
				keys = append(keys, "`"+key+"`")
			}
		}
		assert.ElementsMatch(t, keys, strings.Split(strings.TrimSuffix(row, " |"), ", "), msg)
	}
	assert.Equal(t, 10, lines)
	assert.Equal(t, reflect.TypeFor[rowlock.Trace]().NumField(), 9, "log and document a new event")
}

// If a call returns no lease, the trace receives the error. A loss that only the release notices is reported once, like any other
// loss. Every function of a Trace gets the values of the caller's ctx.
func TestFailuresAndLateLossesAreReported(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		var failed []rowlock.AcquireFailedEvent
		var lost []rowlock.LostEvent
		l := locker(t, store, rowlock.Tracing(
			&rowlock.Trace{AcquireFailed: func(e rowlock.AcquireFailedEvent) { failed = append(failed, e) }}, nil,
			&rowlock.Trace{Lost: func(e rowlock.LostEvent) { lost = append(lost, e) }},
		))
		ctx := context.WithValue(background, requestID{}, 7)
		lease, err := l.Acquire(ctx, "a")
		require.NoError(t, err)
		_, err = l.Acquire(ctx, "a", rowlock.Wait(time.Minute))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		require.Len(t, failed, 1)
		assert.Equal(t, err, failed[0].Err)
		assert.Equal(t, time.Minute, failed[0].Waited)
		assert.Positive(t, failed[0].Attempts)
		assert.Zero(t, failed[0].Unanswered)
		assert.Equal(t, 7, failed[0].Context.Value(requestID{}))

		store.Lose("a")
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		synctest.Wait()
		require.Len(t, lost, 1)
		assert.Equal(t, rowlock.LostTaken, lost[0].Reason)
		assert.Equal(t, 7, lost[0].Context.Value(requestID{}))

		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{LoseReply: true} })
		_, err = l.TryAcquire(background, "b")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		assert.Equal(t, failed[1].Attempts, failed[1].Unanswered)
		store.Intercept(nil)
	})
}

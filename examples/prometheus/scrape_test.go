package main

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// watched has the series that an operator of locks watches. After the function lively has run, each series must have at
// least the value in this map. The series show wait times, failures, renewal delays, session expiries, tokens and
// partitions.
var watched = map[string]float64{
	`rowlock_acquire_duration_seconds_count{rowlock_name="report", rowlock_outcome="acquired"}`:    2, // wait time
	`rowlock_acquire_duration_seconds_count{rowlock_name="report", rowlock_outcome="held"}`:        1, // failure rate
	`rowlock_acquire_duration_seconds_count{rowlock_name="report", rowlock_outcome="unavailable"}`: 1,
	`rowlock_acquire_requests_total{rowlock_name="report"}`:                                        4,
	`rowlock_acquire_refusals_total{rowlock_name="report", rowlock_reason="held"}`:                 1,
	`rowlock_leases{rowlock_name="report"}`:                                                        0,
	`rowlock_leases{rowlock_name="invoices"}`:                                                      1,
	`rowlock_hold_duration_seconds_count{rowlock_name="report", rowlock_outcome="released"}`:       1,
	`rowlock_hold_duration_seconds_count{rowlock_name="report", rowlock_outcome="lost"}`:           1,
	`rowlock_renewal_duration_seconds_count{rowlock_name="report"}`:                                1, // renewal delay
	`rowlock_renewal_margin_seconds_count{rowlock_name="report"}`:                                  1,
	`rowlock_renewal_failures_total{rowlock_name="report", rowlock_outcome="unavailable"}`:         1, // partitions
	`rowlock_renewal_failures_total{rowlock_name="report", rowlock_outcome="unknown"}`:             0,
	`rowlock_lost_total{rowlock_name="report", rowlock_reason="expired"}`:                          1,
	`rowlock_lost_total{rowlock_name="report", rowlock_reason="taken"}`:                            0,
	`rowlock_lost_total{rowlock_name="report", rowlock_reason="max_hold"}`:                         0,
	`rowlock_lost_total{rowlock_name="report", rowlock_reason="session"}`:                          0, // session expiries
	`rowlock_unknown_total{rowlock_name="report", rowlock_operation="acquire"}`:                    0,
	`rowlock_resolved_total{rowlock_name="report", rowlock_result="freed"}`:                        1,
	`rowlock_token{rowlock_name="report"}`:                                                         1, // token monotonicity
	`rowlock_token_regressions_total{rowlock_name="report"}`:                                       0,
}

// The scrape has every watched series, and the value of each series is at least the expected value.
func TestScrapeShowsEveryMetric(t *testing.T) {
	lively(t).counts(t, t)
}

// counts asserts all watched series.
func (s scrape) counts(t *testing.T, c assert.TestingT) {
	for series, least := range watched {
		value, found := s.value(t, series)
		assert.True(c, found, series)
		assert.GreaterOrEqual(c, value, least, series)
	}
}

// lively causes most of the events that the metrics count, and returns a scrape.
func lively(t *testing.T) scrape {
	t.Helper()
	store := memlock.New()
	locker, metrics, err := observed(store, rowlock.TTL(5*time.Second))
	require.NoError(t, err)
	defer func() { _ = locker.Close() }()
	ctx := t.Context()
	_, err = locker.Acquire(ctx, "invoices", rowlock.TTL(time.Hour))
	require.NoError(t, err)

	require.NoError(t, locker.Do(ctx, "report", func(held context.Context, lease *rowlock.Lease) error {
		_, err := locker.TryAcquire(ctx, "report") // with the context held instead of ctx, the call would fail as nested and send no request
		require.ErrorIs(t, err, rowlock.ErrHeld)
		return lease.Renew(held)
	}))
	lease, err := locker.Acquire(ctx, "report")
	require.NoError(t, err)
	store.Intercept(func(memlock.Call) memlock.Fault {
		return memlock.Fault{Fail: driver.NotApplied(errors.New("connection refused"))}
	})
	_, err = locker.TryAcquire(ctx, "report", rowlock.TTL(time.Second))
	require.ErrorIs(t, err, rowlock.ErrUnavailable)
	<-lease.Context().Done()
	store.Intercept(nil)
	require.ErrorIs(t, lease.Release(ctx), rowlock.ErrLost)

	// Some counters rise after the calls above have returned, so the test waits until they do. The goroutine that
	// notices a loss raises one counter after another. An acquire that got no reply is released in the background.
	var s scrape
	require.EventuallyWithT(t, func(c *assert.CollectT) {
		s = scrapeOf(t, metrics)
		s.counts(t, c)
	}, 10*time.Second, 10*time.Millisecond)
	return s
}

type sample struct {
	labels labels.Labels
	value  string
}

type scrape []sample

func scrapeOf(t *testing.T, metrics http.Handler) scrape {
	t.Helper()
	reply := httptest.NewRecorder()
	metrics.ServeHTTP(reply, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	require.Equal(t, http.StatusOK, reply.Code)
	var s scrape
	for line := range strings.Lines(reply.Body.String()) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		at := strings.LastIndexByte(line, ' ')
		series, err := parser.ParseMetric(line[:at])
		require.NoError(t, err, line)
		s = append(s, sample{series, strings.TrimSpace(line[at:])})
	}
	return s
}

// matching returns the samples that match a selector.
func (s scrape) matching(selector []*labels.Matcher) scrape {
	var found scrape
	for _, one := range s {
		matches := true
		for _, m := range selector {
			matches = matches && m.Matches(one.labels.Get(m.Name))
		}
		if matches {
			found = append(found, one)
		}
	}
	return found
}

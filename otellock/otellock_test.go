package otellock_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/otellock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var background = context.Background()

const ttl = 3 * time.Second

// telemetry is a Locker with the metrics and spans that it has reported.
type telemetry struct {
	*rowlock.Locker

	reader *sdkmetric.ManualReader
	spans  *tracetest.SpanRecorder
	tracer *sdktrace.TracerProvider
}

func observed(t *testing.T, store driver.Backend, opts ...otellock.Option) *telemetry {
	t.Helper()
	o := &telemetry{reader: sdkmetric.NewManualReader(), spans: tracetest.NewSpanRecorder()}
	o.tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans))
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(o.reader))
	trace, err := otellock.New(append(opts, otellock.Meters(meters), otellock.Tracers(o.tracer))...)
	require.NoError(t, err)
	o.Locker, err = rowlock.New(store, rowlock.TTL(ttl), rowlock.Tracing(trace))
	require.NoError(t, err)
	t.Cleanup(func() { _ = o.Close() })
	return o
}

// series returns the value of each time series, by the metric's name and attribute values. For a histogram,
// the value is the number of measurements.
func (o *telemetry) series(t *testing.T) map[string]int64 {
	t.Helper()
	var all metricdata.ResourceMetrics
	require.NoError(t, o.reader.Collect(background, &all))
	series := map[string]int64{}
	put := func(name string, set attribute.Set, value int64) {
		for _, kv := range set.ToSlice() {
			name += fmt.Sprintf(" %s", kv.Value.AsString())
		}
		series[name] = value
	}
	for _, s := range all.ScopeMetrics {
		for _, m := range s.Metrics {
			switch data := m.Data.(type) {
			case metricdata.Sum[int64]:
				for _, p := range data.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Gauge[int64]:
				for _, p := range data.DataPoints {
					put(m.Name, p.Attributes, p.Value)
				}
			case metricdata.Histogram[float64]:
				for _, p := range data.DataPoints {
					put(m.Name, p.Attributes, int64(p.Count))
				}
			}
		}
	}
	return series
}

func bubble(t *testing.T, f func(t *testing.T, store *memlock.Backend)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { f(t, memlock.New()) })
}

// Each event of a lock is counted once, in the metric that docs/observability.md lists for it.
func TestMetrics(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		o := observed(t, store)
		count := func(name string, want int64) {
			t.Helper()
			synctest.Wait()
			assert.Equal(t, want, o.series(t)[name], name)
		}
		count("rowlock.lost session", 0)

		lease, err := o.Acquire(background, "a")
		require.NoError(t, err)
		count("rowlock.acquire.duration acquired", 1)
		count("rowlock.acquire.requests", 1)
		count("rowlock.leases", 1)
		_, err = o.TryAcquire(background, "a")
		require.ErrorIs(t, err, rowlock.ErrHeld)
		count("rowlock.acquire.duration held", 1)
		count("rowlock.acquire.refusals held", 1)
		require.NoError(t, lease.Renew(background))
		count("rowlock.renewal.duration", 1)
		count("rowlock.renewal.margin", 1)
		require.NoError(t, lease.Release(background))
		count("rowlock.hold.duration released", 1)
		count("rowlock.leases", 0)

		lease, err = o.Acquire(background, "b")
		require.NoError(t, err)
		store.Lose("b")
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		count("rowlock.lost taken", 1)
		count("rowlock.leases", 0)

		lease, err = o.Acquire(background, "c", rowlock.MaxHold(time.Minute))
		require.NoError(t, err)
		<-lease.Context().Done()
		count("rowlock.lost max_hold", 1)
		require.ErrorIs(t, lease.Release(background), rowlock.ErrLost)
		count("rowlock.hold.duration lost", 2)
		count("rowlock.resolved freed", 1)

		lease, err = o.Acquire(background, "d")
		require.NoError(t, err)
		store.Intercept(func(c memlock.Call) memlock.Fault {
			if c.Op == memlock.OpRenew && c.N%2 == 0 {
				return memlock.Fault{Fail: driver.NotApplied(errors.New("connection refused"))}
			}
			return memlock.Fault{LoseReply: true}
		})
		_, err = o.TryAcquire(background, "e")
		require.ErrorIs(t, err, rowlock.ErrUnavailable)
		count("rowlock.acquire.duration unavailable", 1)
		assert.Positive(t, o.series(t)["rowlock.unknown acquire"])
		<-lease.Context().Done()
		count("rowlock.lost expired", 1)
		assert.Positive(t, o.series(t)["rowlock.renewal.failures unavailable"])
		assert.Positive(t, o.series(t)["rowlock.renewal.failures unknown"])
		assert.Equal(t, o.series(t)["rowlock.renewal.failures unknown"], o.series(t)["rowlock.unknown renew"])
		_ = lease.Release(background)
		store.Intercept(nil)

		lease, err = o.Acquire(background, "f")
		require.NoError(t, err)
		store.Intercept(func(memlock.Call) memlock.Fault { return memlock.Fault{LoseReply: true} })
		require.ErrorIs(t, lease.Release(background), rowlock.ErrUnknown)
		count("rowlock.unknown release", 1)
		count("rowlock.leases", 0)
		store.Intercept(nil)
		count("rowlock.token.regressions", 0)
	})
}

// If a session ends, the metric rowlock.lost counts one loss for each lease of the session.
func TestSessionExpiry(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		connection, end := context.WithCancel(background)
		o := observed(t, session{store, connection}, otellock.Names(func(_, name string) string { return name }))
		for _, name := range []string{"a", "b"} {
			_, err := o.Acquire(background, name)
			require.NoError(t, err)
			assert.Contains(t, o.series(t), "rowlock.lost "+name+" session", "the series exists before the first loss")
		}
		end()
		synctest.Wait()
		assert.EqualValues(t, 1, o.series(t)["rowlock.lost a session"])
		assert.EqualValues(t, 1, o.series(t)["rowlock.lost b session"])
	})
}

type session struct {
	*memlock.Backend

	connection context.Context
}

func (s session) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := s.Backend.Acquire(ctx, r)
	g.Session = s.connection
	return g, err
}

// The counter of a rare event is zero before the first event. The counter also exists if the function of Names returns
// "" for a lock.
func TestRareEventsOfNamesWithoutAnAttribute(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		o := observed(t, store, otellock.Names(func(_, name string) string { return map[string]string{"known": "known"}[name] }))
		for _, name := range []string{"known", "other"} {
			_, err := o.Acquire(background, name)
			require.NoError(t, err)
		}
		assert.Contains(t, o.series(t), "rowlock.lost known session")
		assert.Contains(t, o.series(t), "rowlock.lost session")
	})
}

// Without the option Names, the number of time series does not depend on the number of locks. With Names,
// the token is also a metric.
func TestNamesAreAttributesOnlyOnRequest(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		plain := observed(t, store)
		named := observed(t, store, otellock.Names(func(_, name string) string { return name[:1] }))
		var before int
		var token rowlock.Token
		for i := range 2000 { // more locks than maxTokens, the number of locks whose tokens otellock remembers
			for _, o := range []*telemetry{plain, named} {
				lease, err := o.Acquire(background, fmt.Sprint("order-", i), rowlock.Namespace(fmt.Sprint(i)), rowlock.Holder(fmt.Sprint(i)))
				require.NoError(t, err)
				require.NoError(t, lease.Release(background))
				token = lease.Token()
			}
			if i == 0 {
				before = len(plain.series(t))
			}
		}
		assert.Len(t, plain.series(t), before)
		assert.EqualValues(t, 2000, named.series(t)["rowlock.acquire.duration o acquired"])
		assert.EqualValues(t, token, named.series(t)["rowlock.token o"])
	})
}

// A grant whose token is not larger than that of an earlier grant is counted. A store that was restored from a backup
// makes such grants.
func TestTokenRegression(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		back := &backwards{Backend: store}
		o := observed(t, back)
		for i, want := range []int64{0, 0, 1} {
			if i == 2 {
				back.by = 1000 * time.Hour
			}
			time.Sleep(time.Second)
			lease, err := o.Acquire(background, "a")
			require.NoError(t, err)
			_ = lease.Release(background)
			assert.Equal(t, want, o.series(t)["rowlock.token.regressions"])
		}
	})
}

// backwards simulates a store that was restored from a backup. The field by is the age of the backup. The tokens of
// such a store are smaller than before the restore.
type backwards struct {
	*memlock.Backend

	by time.Duration
}

func (b *backwards) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	g, err := b.Backend.Acquire(ctx, r)
	g.Token -= driver.Token(b.by.Microseconds())
	return g, err
}

// Each acquire and each hold gets a span that lasts as long, and is a child of the caller's span.
func TestSpans(t *testing.T) {
	bubble(t, func(t *testing.T, store *memlock.Backend) {
		o := observed(t, store)
		ctx, root := o.tracer.Tracer("test").Start(background, "job")
		first, err := o.Acquire(background, "a")
		require.NoError(t, err)
		_, err = o.Acquire(ctx, "a", rowlock.Wait(time.Second))
		require.ErrorIs(t, err, rowlock.ErrHeld)
		require.NoError(t, first.Release(background))
		second, err := o.Acquire(ctx, "a")
		require.NoError(t, err)
		time.Sleep(time.Minute)
		store.Lose("a")
		<-second.Context().Done()
		require.Error(t, second.Release(background))
		synctest.Wait()

		var told []string
		for _, s := range o.spans.Ended() {
			if s.Parent().SpanID() != root.SpanContext().SpanID() {
				continue
			}
			for _, kv := range s.Attributes() {
				if kv.Key == "rowlock.outcome" {
					told = append(told, s.Name()+" "+kv.Value.AsString()+" "+s.EndTime().Sub(s.StartTime()).Truncate(30*time.Second).String())
				}
			}
			assert.Contains(t, s.Attributes(), attribute.String("rowlock.name", "a"))
			assert.Equal(t, s.Name() == "rowlock.hold", s.Status().Code == codes.Error, "a loss is an error and a refusal is not")
		}
		assert.Equal(t, []string{"rowlock.acquire held 0s", "rowlock.acquire acquired 0s", "rowlock.hold lost 1m0s"}, told)
		root.End()
	})
}

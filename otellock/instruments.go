package otellock

import (
	"go.opentelemetry.io/otel/metric"

	"github.com/rowlock/rowlock/internal/oneline"
)

// These are the bucket boundaries of the histograms, in seconds. A request takes from half a millisecond to seconds.
// A wait or a hold may last for hours. A margin is the time left until a lease's deadline, which is at most a TTL of
// seconds to minutes.
var (
	requestBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5}
	waitBounds    = []float64{.001, .005, .025, .1, .5, 1, 5, 15, 60, 300, 900, 3600, 14400}
	marginBounds  = []float64{.01, .05, .1, .25, .5, 1, 2, 5, 10, 15, 20, 30, 60, 120}
)

// instruments are the metrics that docs/observability.md describes.
type instruments struct {
	acquire     metric.Float64Histogram
	requests    metric.Int64Counter
	refusals    metric.Int64Counter
	leases      metric.Int64UpDownCounter
	hold        metric.Float64Histogram
	renewal     metric.Float64Histogram
	margin      metric.Float64Histogram
	failures    metric.Int64Counter
	lost        metric.Int64Counter
	unknown     metric.Int64Counter
	resolved    metric.Int64Counter
	token       metric.Int64Gauge
	regressions metric.Int64Counter
}

func newInstruments(m metric.Meter) (*instruments, error) {
	var errs []error
	counter := func(name, unit, text string) metric.Int64Counter {
		c, err := m.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(text))
		errs = append(errs, err)
		return c
	}
	histogram := func(name, text string, bounds []float64) metric.Float64Histogram {
		h, err := m.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(text), metric.WithExplicitBucketBoundaries(bounds...))
		errs = append(errs, err)
		return h
	}
	leases, err := m.Int64UpDownCounter("rowlock.leases", metric.WithUnit("{lease}"), metric.WithDescription("Leases that this process holds."))
	errs = append(errs, err)
	token, err := m.Int64Gauge("rowlock.token", metric.WithDescription("Fencing token of the last grant."))
	errs = append(errs, err)
	return &instruments{
		acquire:     histogram("rowlock.acquire.duration", "Duration of a call of Acquire, by outcome.", waitBounds),
		requests:    counter("rowlock.acquire.requests", "{request}", "Requests for a lock sent to the store."),
		refusals:    counter("rowlock.acquire.refusals", "{refusal}", "Requests that the store refused because the name could not be granted, by reason."),
		leases:      leases,
		hold:        histogram("rowlock.hold.duration", "Time from the grant until the lease ended, by how it ended.", waitBounds),
		renewal:     histogram("rowlock.renewal.duration", "Time from the request to the reply of a renewal that succeeded.", requestBounds),
		margin:      histogram("rowlock.renewal.margin", "Time until the deadline of the lease when the reply to a renewal came.", marginBounds),
		failures:    counter("rowlock.renewal.failures", "{failure}", "Renewals that failed, by outcome. They are retried until the deadline."),
		lost:        counter("rowlock.lost", "{lease}", "Leases that ended before they were released, by reason."),
		unknown:     counter("rowlock.unknown", "{request}", "Requests of unknown outcome, by operation."),
		resolved:    counter("rowlock.resolved", "{acquisition}", "Acquires and releases of unknown outcome that were resolved in the background, by result."),
		token:       token,
		regressions: counter("rowlock.token.regressions", "{grant}", "Grants whose token was not larger than that of an earlier grant of the name."),
	}, oneline.Join(errs...)
}

package otellock

import (
	"context"
	"errors"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

const scope = "github.com/rowlock/rowlock/otellock"

// recorder turns the events of a Locker into measurements and spans.
type recorder struct {
	*instruments

	spans  trace.Tracer
	names  func(namespace, name string) string
	tokens tokens
	zeroed sync.Map // the values of rowlock.name for which the method zero has run
}

// New returns a trace for [rowlock.Tracing] that reports to OpenTelemetry. The functions of the trace never block.
// New returns an error if the meter provider rejects a metric, for example because another metric has the same name but
// another kind.
func New(opts ...Option) (*rowlock.Trace, error) {
	s := defaults()
	for _, opt := range opts {
		opt(&s)
	}
	in, err := newInstruments(s.meters.Meter(scope))
	if err != nil {
		return nil, err
	}
	r := &recorder{instruments: in, spans: s.tracers.Tracer(scope), names: s.names}
	if s.names == nil {
		r.zero(nil)
	}
	return &rowlock.Trace{
		Acquired: r.acquired, AcquireFailed: r.acquireFailed, HeldByOther: r.heldByOther,
		Renewed: r.renewed, RenewalFailed: r.renewalFailed,
		Lost: r.wasLost, Released: r.released, Resolved: r.wasResolved,
	}, nil
}

func (r *recorder) acquired(e rowlock.AcquiredEvent) {
	r.acquire.Record(e.Context, e.Waited.Seconds(), r.with(e.LockInfo, outcome("acquired")))
	r.asked(e.Context, e.LockInfo, e.Attempts, e.Unanswered)
	r.leases.Add(e.Context, 1, r.with(e.LockInfo))
	if r.names != nil {
		r.token.Record(e.Context, int64(e.Token), r.with(e.LockInfo))
	}
	if r.tokens.fell(e, time.Now()) {
		r.regressions.Add(e.Context, 1, r.with(e.LockInfo))
	}
	r.acquireSpan(e.Context, e.LockInfo, e.Waited, e.Attempts, "acquired", nil, tokenKey.Int64(int64(e.Token)))
}

func (r *recorder) acquireFailed(e rowlock.AcquireFailedEvent) {
	why := failure(e.Err)
	r.acquire.Record(e.Context, e.Waited.Seconds(), r.with(e.LockInfo, outcome(why)))
	r.asked(e.Context, e.LockInfo, e.Attempts, e.Unanswered)
	r.acquireSpan(e.Context, e.LockInfo, e.Waited, e.Attempts, why, e.Err)
}

func (r *recorder) asked(ctx context.Context, lock rowlock.LockInfo, attempts, unanswered int) {
	if r.names != nil {
		name := r.names(lock.Namespace, lock.Name)
		if _, done := r.zeroed.LoadOrStore(name, true); !done {
			var all []attribute.KeyValue
			if name != "" {
				all = append(all, nameKey.String(name))
			}
			r.zero(all)
		}
	}
	r.requests.Add(ctx, int64(attempts), r.with(lock))
	if unanswered > 0 {
		r.unknown.Add(ctx, int64(unanswered), r.with(lock, operation("acquire")))
	}
}

func (r *recorder) heldByOther(e rowlock.HeldByOtherEvent) {
	r.refusals.Add(context.Background(), 1, r.with(e.LockInfo, reason(refusal(e.Held.Reason))))
}

func (r *recorder) renewed(e rowlock.RenewedEvent) {
	set := r.with(e.LockInfo)
	r.renewal.Record(context.Background(), e.Took.Seconds(), set)
	r.margin.Record(context.Background(), e.Margin.Seconds(), set)
}

func (r *recorder) renewalFailed(e rowlock.RenewalFailedEvent) {
	if driver.IsNotApplied(e.Err) {
		r.failures.Add(context.Background(), 1, r.with(e.LockInfo, outcome("unavailable")))
		return
	}
	r.failures.Add(context.Background(), 1, r.with(e.LockInfo, outcome("unknown")))
	r.unknown.Add(context.Background(), 1, r.with(e.LockInfo, operation("renew")))
}

func (r *recorder) wasLost(e rowlock.LostEvent) {
	r.lost.Add(e.Context, 1, r.with(e.LockInfo, reason(loss(e.Reason))))
	r.ended(e.Context, e.LeaseInfo, e.Held, "lost")
	r.holdSpan(e.Context, e.LeaseInfo, e.Held, e.Reason)
}

// released counts the end of a lease. It skips a lost lease, because the method wasLost has counted that lease.
func (r *recorder) released(e rowlock.ReleasedEvent) {
	if errors.Is(e.Err, rowlock.ErrLost) {
		return
	}
	r.ended(e.Context, e.LeaseInfo, e.Held, "released")
	if errors.Is(e.Err, rowlock.ErrUnknown) {
		r.unknown.Add(e.Context, 1, r.with(e.LockInfo, operation("release")))
	}
	r.holdSpan(e.Context, e.LeaseInfo, e.Held, 0)
}

func (r *recorder) ended(ctx context.Context, lease rowlock.LeaseInfo, held time.Duration, how string) {
	r.leases.Add(ctx, -1, r.with(lease.LockInfo))
	r.hold.Record(ctx, held.Seconds(), r.with(lease.LockInfo, outcome(how)))
}

func (r *recorder) wasResolved(e rowlock.ResolvedEvent) {
	became := "nothing"
	switch {
	case e.Err != nil:
		became = "given_up"
	case e.Freed:
		became = "freed"
	}
	r.resolved.Add(context.Background(), 1, r.with(e.LockInfo, result(became)))
}

// with returns attrs and, if Names is set, the attribute rowlock.name.
func (r *recorder) with(lock rowlock.LockInfo, attrs ...attribute.KeyValue) metric.MeasurementOption {
	if r.names != nil {
		if name := r.names(lock.Namespace, lock.Name); name != "" {
			attrs = append(attrs, nameKey.String(name))
		}
	}
	return metric.WithAttributeSet(attribute.NewSet(attrs...))
}

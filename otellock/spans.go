package otellock

import (
	"context"
	"errors"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/rowlock/rowlock"
)

func (r *recorder) acquireSpan(ctx context.Context, lock rowlock.LockInfo, took time.Duration, attempts int, result string, err error, attrs ...attribute.KeyValue) {
	span, end := r.span(ctx, "rowlock.acquire", lock, took)
	defer end()
	span.SetAttributes(append(attrs, attemptsKey.Int(attempts), outcome(result))...)
	if errors.Is(err, rowlock.ErrUnavailable) {
		span.SetStatus(codes.Error, err.Error())
	}
}

func (r *recorder) holdSpan(ctx context.Context, lease rowlock.LeaseInfo, held time.Duration, lost rowlock.LostReason) {
	span, end := r.span(ctx, "rowlock.hold", lease.LockInfo, held)
	defer end()
	span.SetAttributes(tokenKey.Int64(int64(lease.Token)))
	if lost != 0 {
		span.SetAttributes(outcome("lost"), reason(loss(lost)))
		span.SetStatus(codes.Error, lost.String())
		return
	}
	span.SetAttributes(outcome("released"))
}

// span creates a child of the span in ctx. The child ends at the time of this call. The parameter took is its duration.
// The returned function end reports the child.
func (r *recorder) span(ctx context.Context, name string, lock rowlock.LockInfo, took time.Duration) (span trace.Span, end func()) {
	now := time.Now()
	_, span = r.spans.Start(ctx, name, trace.WithTimestamp(now.Add(-took)), trace.WithAttributes(
		nameKey.String(lock.Name), namespaceKey.String(lock.Namespace), holderKey.String(lock.Holder)))
	return span, func() { span.End(trace.WithTimestamp(now)) }
}

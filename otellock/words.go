package otellock

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// These are the keys of the attributes. Outcome, reason, operation and result are attributes of metrics,
// so each has only a few fixed values.
const (
	nameKey      = attribute.Key("rowlock.name")
	namespaceKey = attribute.Key("rowlock.namespace")
	holderKey    = attribute.Key("rowlock.holder")
	tokenKey     = attribute.Key("rowlock.token")
	outcomeKey   = attribute.Key("rowlock.outcome")
	attemptsKey  = attribute.Key("rowlock.attempts")
)

func outcome(s string) attribute.KeyValue   { return outcomeKey.String(s) }
func reason(s string) attribute.KeyValue    { return attribute.String("rowlock.reason", s) }
func operation(s string) attribute.KeyValue { return attribute.String("rowlock.operation", s) }
func result(s string) attribute.KeyValue    { return attribute.String("rowlock.result", s) }

// failure returns the value of rowlock.outcome for an acquire that failed with err.
func failure(err error) string {
	switch {
	case errors.Is(err, rowlock.ErrClosed):
		return "closed"
	case errors.Is(err, rowlock.ErrUnavailable):
		return "unavailable"
	default:
		return "held"
	}
}

var losses = map[rowlock.LostReason]string{
	rowlock.LostExpired: "expired", rowlock.LostTaken: "taken", rowlock.LostMaxHold: "max_hold", rowlock.LostSession: "session",
}

func loss(r rowlock.LostReason) string {
	if word, ok := losses[r]; ok {
		return word
	}
	return "other"
}

// refusal returns the value of rowlock.reason: "held" if another holder has a lease, and "closed" for all other
// reasons.
func refusal(r driver.Reason) string {
	if r == driver.Leased {
		return "held"
	}
	return "closed"
}

// zero adds 0 to the counters of rare events, so that their time series exist before the first event.
// If a time series began with the value one, Prometheus would see no increase. All these counters get the common
// attributes.
func (r *recorder) zero(common []attribute.KeyValue) {
	add := func(c metric.Int64Counter, attrs ...attribute.KeyValue) {
		c.Add(context.Background(), 0, metric.WithAttributes(append(attrs, common...)...))
	}
	for _, word := range losses {
		add(r.lost, reason(word))
	}
	for _, word := range []string{"acquire", "renew", "release"} {
		add(r.unknown, operation(word))
	}
	for _, word := range []string{"unavailable", "unknown"} {
		add(r.failures, outcome(word))
	}
	for _, word := range []string{"freed", "nothing", "given_up"} {
		add(r.resolved, result(word))
	}
	add(r.regressions)
}

package otellock

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option changes where telemetry goes, and what it tells.
type Option func(*settings)

type settings struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
	names   func(namespace, name string) string
}

func defaults() settings {
	return settings{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
}

// Meters has the metrics go to p instead of the global provider.
func Meters(p metric.MeterProvider) Option { return func(s *settings) { s.meters = p } }

// Tracers has the spans go to p instead of the global provider.
func Tracers(p trace.TracerProvider) Option { return func(s *settings) { s.tracers = p } }

// Names gives every metric the attribute rowlock.name, with what f makes of a lock's name: the name itself
// where a program has a few dozen of them, a class of names ("order", "invoice") where it has many. Each value costs
// a time series per metric, so there must be a bound on them. An empty value gives no attribute. With
// it there is also the metric rowlock.token. f may be called by several goroutines at once.
func Names(f func(namespace, name string) string) Option { return func(s *settings) { s.names = f } }

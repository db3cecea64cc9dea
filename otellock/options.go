package otellock

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option changes where [New] sends metrics and spans, or what the metrics contain.
type Option func(*settings)

type settings struct {
	meters  metric.MeterProvider
	tracers trace.TracerProvider
	names   func(namespace, name string) string
}

func defaults() settings {
	return settings{meters: otel.GetMeterProvider(), tracers: otel.GetTracerProvider()}
}

// Meters sends the metrics to p instead of the global provider.
func Meters(p metric.MeterProvider) Option { return func(s *settings) { s.meters = p } }

// Tracers sends the spans to p instead of the global provider.
func Tracers(p trace.TracerProvider) Option { return func(s *settings) { s.tracers = p } }

// Names adds the attribute rowlock.name to every metric. Its value is the result of f. If the program has at most a few
// dozen locks, f can return the lock's name. If it has more, let f return a class of locks, such as "order" or
// "invoice". Each value adds a time series to each metric, so f must return few different values. If f returns "",
// the measurement does not get the attribute. Names also adds the metric rowlock.token. Several goroutines may call f
// at the same time.
func Names(f func(namespace, name string) string) Option { return func(s *settings) { s.names = f } }

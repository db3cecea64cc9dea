package otellock

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Option configures where telemetry goes and what it contains.
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

// Names adds the attribute rowlock.name to every metric. Its value is the result of f. Return the name itself
// if the program has a few dozen names, or a class of names ("order", "invoice") if it has many. Each value
// adds a time series to each metric, so the number of values must be limited. An empty value adds no
// attribute. With Names there is also the metric rowlock.token. Several goroutines may call f at the same
// time.
func Names(f func(namespace, name string) string) Option { return func(s *settings) { s.names = f } }

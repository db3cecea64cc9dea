package main

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	exporter "go.opentelemetry.io/otel/exporters/prometheus"
	"go.opentelemetry.io/otel/sdk/metric"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/otellock"
)

// observed returns a locker on the backend, and a handler that serves its metrics.
func observed(backend driver.Backend, opts ...rowlock.Option) (*rowlock.Locker, http.Handler, error) {
	registry := prometheus.NewRegistry()
	reader, err := exporter.New(exporter.WithRegisterer(registry), exporter.WithoutScopeInfo())
	if err != nil {
		return nil, nil, err
	}
	trace, err := otellock.New(
		otellock.Meters(metric.NewMeterProvider(metric.WithReader(reader))),
		otellock.Names(class),
	)
	if err != nil {
		return nil, nil, err
	}
	locker, err := rowlock.New(backend, append(opts, rowlock.Tracing(trace))...)
	return locker, promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), err
}

// class returns the value of the metric attribute for a lock's name. This program has few jobs,
// and each has a value of its own. All other names share one value, because their number is not limited.
func class(_, name string) string {
	switch name {
	case "report", "invoices":
		return name
	default:
		return "other"
	}
}

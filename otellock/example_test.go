package otellock_test

import (
	"context"
	"fmt"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/otellock"
)

// This program exports the metrics of locks with its own provider. Without [otellock.Meters], the metrics go to the global
// provider.
func ExampleNew() {
	reader := metric.NewManualReader() // a real program has an exporter here
	trace, err := otellock.New(otellock.Meters(metric.NewMeterProvider(metric.WithReader(reader))))
	if err != nil {
		panic(err)
	}
	locker, err := rowlock.New(memlock.New(), rowlock.Tracing(trace))
	if err != nil {
		panic(err)
	}
	defer locker.Close()
	ctx := context.Background()
	if err := locker.Do(ctx, "nightly", func(context.Context, *rowlock.Lease) error { return nil }); err != nil {
		panic(err)
	}
	var collected metricdata.ResourceMetrics
	if err := reader.Collect(ctx, &collected); err != nil {
		panic(err)
	}
	fmt.Println("metrics:", len(collected.ScopeMetrics[0].Metrics) > 0)
	// Output: metrics: true
}

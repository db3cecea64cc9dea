/*
Package otellock reports the events of locks to OpenTelemetry: metrics for alerts and dashboards, and spans for
each wait and each hold.

	trace, err := otellock.New()
	…
	locker, err := rowlock.New(backend, rowlock.Tracing(trace))

[New] uses the global providers of OpenTelemetry unless options name others. Use one trace for the lockers of one
store, because it compares the tokens of each name.

# Metrics

The page docs/observability.md lists the metrics, their purpose, and alerts on them. The number of time series does
not depend on the number of names. The name of a lock is no attribute, unless [Names] maps the names to a limited
set. The namespace and the holder are never attributes.

# Spans

"rowlock.acquire" lasts from the call until it returns. "rowlock.hold" lasts from the grant until the lease is released
or lost. Both are children of the span in the caller's ctx, and are created when they end. Spans of the work are
their siblings. They have the lock's name, namespace, holder and token, because many different values do not harm
traces. A loss is an error, and so is an acquire that got no reply. A refusal is not.

The package needs only the API of OpenTelemetry. The program chooses the SDK. Without a provider the cost is
negligible.
*/
package otellock

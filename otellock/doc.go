/*
Package otellock reports the events of locks to OpenTelemetry: metrics for alerts and dashboards, and spans for
each wait and each hold.

	trace, err := otellock.New()
	…
	locker, err := rowlock.New(backend, rowlock.Tracing(trace))

[New] uses the global providers of OpenTelemetry unless options name others. Use one trace for all Lockers of one store,
and another trace for another store. The trace compares the token of each
grant with the previous token of the same lock. Tokens of two stores are not comparable.

# Metrics

The page docs/observability.md lists the metrics, their purpose, and alerts on them. The number of time series does not
depend on the number of locks: the lock's name, its namespace and its holder are not attributes of the metrics.
The option [Names] adds an attribute that is derived from the lock's name.

# Spans

The span "rowlock.acquire" lasts from the call of Acquire until it returns. The span "rowlock.hold" lasts from the grant
until the lease is released or lost. The two spans are children of the span in the caller's ctx.
They are created only when they end, so they cannot be parents of the spans of the caller's work.
Their attributes include the lock's name, namespace, holder and token, because traces can store many different values.
A lost lease sets the span's status to an error, and so does an acquire that got no reply. A refusal does not.

The package imports only the API of OpenTelemetry, and the program chooses the SDK. If the program sets no provider,
the cost is negligible.
*/
package otellock

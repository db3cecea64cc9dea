/*
Package otellock tells OpenTelemetry what becomes of locks: metrics for alerts and dashboards, and spans for
the waiting and the holding.

	trace, err := otellock.New()
	…
	locker, err := rowlock.New(backend, rowlock.Tracing(trace))

[New] takes the global providers of OpenTelemetry unless it is given others. One trace is for the lockers of one
store: it compares the tokens of a name with each other.

# Metrics

The page docs/observability.md has the table of metrics, what each is for, and alerts on them. The number of time
series does not depend on the number of names: a lock's name is no attribute, unless [Names] maps the names to a
bounded set. The namespace and the holder never are.

# Spans

"rowlock.acquire" lasts from the call until the lease is there or is given up, "rowlock.hold" from the grant until the
lease is released or lost. Both are children of the span in the ctx of the caller, and made when they end. They
carry the lock's name, namespace, holder and token, for traces do not suffer from many values. Spans of the work are
their siblings. A loss, and an acquire that the store did not answer, are errors; a refusal is none.

The package needs the API of OpenTelemetry only; the SDK is the program's choice. Without a provider it costs next to
nothing.
*/
package otellock

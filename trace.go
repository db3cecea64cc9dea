package rowlock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Trace has functions that are called for the events of locks. Each function may be nil. The functions run in the
// goroutine in which the event happened, and no mutex of this package is held. They must not block,
// because renewals wait for them. Several goroutines may call them at the same time. They may call any method of the
// Locker and of its leases, including Close.
type Trace struct {
	// Waiting: an acquire waits, because it was refused or another caller of this process already waits.
	Waiting func(WaitingEvent)
	// Acquired: a lease was granted.
	Acquired func(AcquiredEvent)
	// AcquireFailed: an Acquire, TryAcquire, Do, TryDo or an attempt of Lead ended without a lease. A lease
	// that could not be sealed causes the events Acquired and Released instead.
	AcquireFailed func(AcquireFailedEvent)
	// HeldByOther: a request was refused. A waiter that polls reports each refusal. A waiter in a queue of the store
	// reports a refusal soon after it has joined the queue, or when its wait ends without a grant.
	HeldByOther func(HeldByOtherEvent)
	// Renewed: the store renewed the lease.
	Renewed func(RenewedEvent)
	// RenewalFailed: a renewal failed or its outcome is unknown. It is retried until the deadline.
	RenewalFailed func(RenewalFailedEvent)
	// Lost: the lease ended before it was released. The event is emitted once, at the latest by the Release that
	// notices the loss.
	Lost func(LostEvent)
	// Released: the holder released the lease.
	Released func(ReleasedEvent)
	// Resolved: a background task has resolved a request of unknown outcome. It has released the grant,
	// found no grant, or given up.
	Resolved func(ResolvedEvent)
}

// LockInfo names the lock of an event.
type LockInfo struct {
	Namespace string
	Name      string
	Holder    string // the caller's description of itself, from the option Holder
}

// LeaseInfo names the lease of an event.
type LeaseInfo struct {
	LockInfo
	Token Token
}

// WaitingEvent is the event of [Trace.Waiting].
type WaitingEvent struct {
	LockInfo
	Ahead int // number of waiters of this process that are before this waiter
}

// AcquiredEvent is the event of [Trace.Acquired].
type AcquiredEvent struct {
	LeaseInfo
	Waited     time.Duration // time since the call began
	Attempts   int           // requests sent
	Unanswered int           // requests whose outcome is unknown
	TTL        time.Duration
	HandedOver bool            // true if the previous holder, of the same Locker, released and handed over in one request
	Context    context.Context // the caller's context, for its values, such as a span
}

// AcquireFailedEvent is the event of [Trace.AcquireFailed].
type AcquireFailedEvent struct {
	LockInfo
	Err        error           // the error that the call returns
	Waited     time.Duration   // time since the call began
	Attempts   int             // requests sent
	Unanswered int             // requests whose outcome is unknown
	Context    context.Context // the caller's context, for its values, such as a span
}

// HeldByOtherEvent is the event of [Trace.HeldByOther].
type HeldByOtherEvent struct {
	LockInfo
	Held *HeldError
}

// RenewedEvent is the event of [Trace.Renewed].
type RenewedEvent struct {
	LeaseInfo
	Took   time.Duration // from the request to the reply
	Margin time.Duration // for how long the lease was still trusted when the reply came
	Batch  int           // leases in the same request
}

// RenewalFailedEvent is the event of [Trace.RenewalFailed].
type RenewalFailedEvent struct {
	LeaseInfo
	Err      error
	Failures int           // failed renewals in a row
	Left     time.Duration // for how long the lease is still trusted
}

// LostEvent is the event of [Trace.Lost].
type LostEvent struct {
	LeaseInfo
	Reason  LostReason
	Held    time.Duration   // time since the grant
	Context context.Context // context of the lease, for its values
}

// ReleasedEvent is the event of [Trace.Released].
type ReleasedEvent struct {
	LeaseInfo
	Held    time.Duration   // time since the grant
	Err     error           // the error that Release returns; nil if the store has released the lease
	Context context.Context // context of the lease, for its values
}

// ResolvedEvent is the event of [Trace.Resolved].
type ResolvedEvent struct {
	LockInfo
	Freed bool  // true if the store held the grant and has released it
	Err   error // the last error, if the background task gave up; a grant then ends with its TTL
}

// emit calls the function that pick chooses, for each trace of cfg in which this function is not nil.
func emit[E any](cfg *settings, pick func(*Trace) func(E), event E) {
	for _, t := range cfg.traces {
		tell(t, pick, event)
	}
	tell(cfg.log, pick, event)
}

// traced reports whether an event may have a function.
func (s *settings) traced() bool { return len(s.traces) > 0 || s.log != nil }

func tell[E any](t *Trace, pick func(*Trace) func(E), event E) {
	if t == nil {
		return
	}
	if f := pick(t); f != nil {
		f(event)
	}
}

func lockInfo(key driver.Key, holder string) LockInfo {
	return LockInfo{Namespace: key.Namespace, Name: key.Name, Holder: holder}
}

// LogTrace returns a trace that logs to l. If an operator must know of a failure, the trace logs it at level Warn or
// Error. It logs acquisitions and releases at level Info, and all other events at level Debug. The keys of the
// attributes are stable.
func LogTrace(l *slog.Logger) *Trace {
	log := func(level slog.Level, msg string, who []slog.Attr, attrs ...slog.Attr) {
		l.LogAttrs(context.Background(), level, "rowlock: "+msg, append(who, attrs...)...)
	}
	return &Trace{
		Waiting: func(e WaitingEvent) {
			log(slog.LevelDebug, "waiting", e.attrs(), slog.Int("ahead", e.Ahead))
		},
		Acquired: func(e AcquiredEvent) {
			log(slog.LevelInfo, "acquired", e.attrs(), slog.Duration("waited", e.Waited), slog.Int("attempts", e.Attempts), slog.Duration("ttl", e.TTL))
		},
		AcquireFailed: func(e AcquireFailedEvent) {
			level := slog.LevelDebug // the caller has the error
			if errors.Is(e.Err, ErrUnavailable) {
				level = slog.LevelWarn
			}
			log(level, "not acquired", e.attrs(), slog.Any("error", e.Err), slog.Duration("waited", e.Waited), slog.Int("attempts", e.Attempts))
		},
		HeldByOther: func(e HeldByOtherEvent) {
			log(slog.LevelDebug, "held by other", e.attrs(), slog.String("by", e.Held.Holder), slog.Int64("by_token", int64(e.Held.Token)), slog.Duration("expires_in", e.Held.ExpiresIn))
		},
		Renewed: func(e RenewedEvent) {
			log(slog.LevelDebug, "renewed", e.attrs(), slog.Duration("took", e.Took), slog.Duration("margin", e.Margin), slog.Int("batch", e.Batch))
		},
		RenewalFailed: func(e RenewalFailedEvent) {
			log(slog.LevelWarn, "renewal failed", e.attrs(), slog.Any("error", e.Err), slog.Int("failures", e.Failures), slog.Duration("left", e.Left))
		},
		Lost: func(e LostEvent) {
			log(slog.LevelError, "lost", e.attrs(), slog.String("reason", e.Reason.String()), slog.Duration("held", e.Held))
		},
		Released: func(e ReleasedEvent) {
			if e.Err != nil {
				log(slog.LevelWarn, "released", e.attrs(), slog.Duration("held", e.Held), slog.Any("error", e.Err))
				return
			}
			log(slog.LevelInfo, "released", e.attrs(), slog.Duration("held", e.Held))
		},
		Resolved: func(e ResolvedEvent) {
			if e.Err != nil {
				log(slog.LevelWarn, "gave up on an unknown outcome", e.attrs(), slog.Any("error", e.Err))
				return
			}
			log(slog.LevelInfo, "unknown outcome resolved", e.attrs(), slog.Bool("freed", e.Freed))
		},
	}
}

func (i LockInfo) attrs() []slog.Attr {
	attrs := make([]slog.Attr, 0, 8)
	if i.Namespace != "" {
		attrs = append(attrs, slog.String("namespace", i.Namespace))
	}
	return append(attrs, slog.String("name", i.Name))
}

func (i LeaseInfo) attrs() []slog.Attr {
	return append(i.LockInfo.attrs(), slog.Int64("token", int64(i.Token)))
}

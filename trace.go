package rowlock

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// Trace is what a program hears of the locks it uses. Each function may be nil. They are called
// in the goroutine in which the thing happened, with no lock of this package held; they must not
// block, for renewal waits for them, and may be called at the same moment from several goroutines. They may call any method
// of the Locker and of its leases, Close among them.
type Trace struct {
	// Waiting: an acquire was refused, or somebody of this process waits already, and it waits.
	Waiting func(WaitingEvent)
	// Acquired: a lease was granted.
	Acquired func(AcquiredEvent)
	// AcquireFailed: an Acquire, TryAcquire, Do, TryDo or campaign of Lead ended without a lease. A lease
	// that could not be sealed is told as acquired and released instead.
	AcquireFailed func(AcquireFailedEvent)
	// HeldByOther: an attempt was refused. A waiter that polls reports each refusal; one in the queue of a store
	// that tells only whoever asks reports it when it has waited for a moment, or in vain.
	HeldByOther func(HeldByOtherEvent)
	// Renewed: the store renewed the lease.
	Renewed func(RenewedEvent)
	// RenewalFailed: a renewal failed or its outcome is unknown; it is tried again until the
	// deadline.
	RenewalFailed func(RenewalFailedEvent)
	// Lost: the lease ended before it was released. It is told once, at the latest by the Release that
	// finds out.
	Lost func(LostEvent)
	// Released: the holder released the lease.
	Released func(ReleasedEvent)
	// Resolved: a request of unknown outcome was taken back, or given up after all its time.
	Resolved func(ResolvedEvent)
}

// LockInfo names the lock of an event.
type LockInfo struct {
	Namespace string
	Name      string
	Holder    string // the caller's own
}

// LeaseInfo names the lease of an event.
type LeaseInfo struct {
	LockInfo
	Token Token
}

// WaitingEvent is the event of [Trace.Waiting].
type WaitingEvent struct {
	LockInfo
	Ahead int // waiters of this process before this one
}

// AcquiredEvent is the event of [Trace.Acquired].
type AcquiredEvent struct {
	LeaseInfo
	Waited     time.Duration // since the call
	Attempts   int           // requests sent
	Unanswered int           // of these, with an outcome that did not become known
	TTL        time.Duration
	HandedOver bool            // by a holder of the same Locker, in the request that released it
	Context    context.Context // the caller's, for its values, such as a span
}

// AcquireFailedEvent is the event of [Trace.AcquireFailed].
type AcquireFailedEvent struct {
	LockInfo
	Err        error           // what the call returns
	Waited     time.Duration   // since the call
	Attempts   int             // requests sent
	Unanswered int             // of these, with an outcome that did not become known
	Context    context.Context // the caller's, for its values, such as a span
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
	Margin time.Duration // how much trust was left when the reply came
	Batch  int           // leases that travelled together
}

// RenewalFailedEvent is the event of [Trace.RenewalFailed].
type RenewalFailedEvent struct {
	LeaseInfo
	Err      error
	Failures int           // in a row
	Left     time.Duration // of trust
}

// LostEvent is the event of [Trace.Lost].
type LostEvent struct {
	LeaseInfo
	Reason  LostReason
	Held    time.Duration   // since the grant
	Context context.Context // of the lease, for its values
}

// ReleasedEvent is the event of [Trace.Released].
type ReleasedEvent struct {
	LeaseInfo
	Held    time.Duration   // since the grant
	Err     error           // nil, an ErrLost, or an ErrUnknown that the janitor goes on with
	Context context.Context // of the lease, for its values
}

// ResolvedEvent is the event of [Trace.Resolved].
type ResolvedEvent struct {
	LockInfo
	Freed bool  // the store held the grant and has let go of it
	Err   error // the last error, when it was given up; the grant ends with its TTL
}

// emit calls the function that pick chooses from each trace of cfg that has it.
func emit[E any](cfg *settings, pick func(*Trace) func(E), event E) {
	for _, t := range cfg.traces {
		tell(t, pick, event)
	}
	tell(cfg.log, pick, event)
}

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

// LogTrace returns a trace that logs to l: what a person must know of as a warning, what changes
// hands as information, the rest for debugging. The keys of the attributes do not change.
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
			level := slog.LevelDebug // whoever called is told
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
				log(slog.LevelWarn, "unknown outcome given up", e.attrs(), slog.Any("error", e.Err))
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

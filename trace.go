package rowlock

import (
	"context"
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

func lockInfo(key driver.Key, holder string) LockInfo {
	return LockInfo{Namespace: key.Namespace, Name: key.Name, Holder: holder}
}

// Package sqlbase contains what the lease rows of all databases share: sending statements, reading their results,
// retries, and the additional connection that is used while the pool is full.
package sqlbase

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// Verdict is the word by which a statement reports what it did, or why it did nothing.
type Verdict string

const (
	Granted    Verdict = "granted"
	Locked     Verdict = "locked"
	Released   Verdict = "released"
	NotHeld    Verdict = "not held"
	Missing    Verdict = "missing"
	Again      Verdict = "again"
	OtherEpoch Verdict = "epoch" // the server is not the one that granted last
	LongerTTL  Verdict = "ttl"   // the lease would be longer than any before
	Leased     Verdict = "leased"
	MinHold    Verdict = "min hold"
	Handover   Verdict = "handover"
	Quarantine Verdict = "quarantine"
	Contended  Verdict = "contended"
	Draining   Verdict = "draining" // a transaction that has checked the fence mark is still open
	Reserved   Verdict = "reserved" // released, and reserved for a waiter
)

var reasons = map[Verdict]driver.Reason{
	Leased:     driver.Leased,
	MinHold:    driver.MinHold,
	Handover:   driver.Handover,
	Quarantine: driver.Quarantine,
	Contended:  driver.Contended,
	Draining:   driver.Draining,
	Reserved:   driver.Reserved,
	OtherEpoch: driver.Quarantine,
}

// Answer is the one row that a statement for one lock returns. Durations are in microseconds and come from the store.
type Answer struct {
	Verdict       Verdict
	Token         int64
	holder, note  string
	since, freeIn int64
	Ahead         int    // how many waiters are before this one, as far as the store knows
	Missed        string // the waiter that the lock was reserved for and that did not acquire it; set only for a waiter's grant
	Pending       bool   // a later release may grant the request
	Sealed        bool   // the grant raised the fence mark; set only if the request asked for it
}

// Dest returns the destinations for a row scan, in the order of the statements' columns.
func (a *Answer) Dest() []any {
	return []any{&a.Verdict, &a.Token, &a.holder, &a.note, &a.since, &a.freeIn}
}

// Held returns the refusal that the row describes.
func (a *Answer) Held() *driver.Held {
	return (&driver.Held{
		Reason: reasons[a.Verdict], Holder: a.holder, Note: a.note, Token: driver.Token(a.Token),
		Since: micros(a.since), ExpiresIn: micros(a.freeIn), Ahead: a.Ahead, Pending: a.Pending,
	}).KnowPause()
}

// GrantOf returns the grant that a makes to r.
func GrantOf(r driver.Request, a Answer) driver.Grant {
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.Token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Sealed: a.Sealed,
	}
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// These constants bound the retries within one attempt.
const (
	looks     = 3                    // how often an attempt retries while the lock looks free and is not granted
	lookDelay = 2 * time.Millisecond // the delay between these retries
	mends     = 5                    // how often an attempt repairs what prevents every grant
)

var errUnsettled = errors.New("the epoch of the lock table keeps changing: are there two primaries?")

// Settle calls ask until its answer is final for the caller. It retries if another process intervened, and first
// repairs what prevents every grant.
func Settle(ctx context.Context, ask func() (Answer, error), mend map[Verdict]func() error) (Answer, error) {
	mended := 0
	for look := 1; ; {
		a, err := ask()
		if err != nil {
			return a, err
		}
		if repair, ok := mend[a.Verdict]; ok {
			if mended++; mended > mends {
				return a, driver.NotApplied(errUnsettled)
			}
			if err := repair(); err != nil {
				return a, err
			}
			continue
		}
		if a.Verdict != Contended || look == looks {
			return a, nil
		}
		look++
		if !backoff.Sleep(ctx, backoff.Jitter(lookDelay)) {
			return a, driver.NotApplied(ctx.Err())
		}
	}
}

// againLimit bounds the retries to end a grant whose row keeps changing.
const againLimit = time.Second

var errChanging = errors.New("the row changes whenever it is read")

// Ended calls ask until the answer says what became of a grant that was to be ended.
func Ended(ctx context.Context, ask func(*Answer) error) error {
	again := func(err error) bool { return errors.Is(err, errChanging) }
	return RetryWithin(ctx, againLimit, again, func() error {
		var a Answer
		if err := ask(&a); err != nil {
			return err
		}
		switch a.Verdict {
		case Released:
			return nil
		case Again:
			return errChanging
		case Leased:
			return a.Held()
		default:
			return driver.ErrNotHeld
		}
	})
}

// statusRow scans a row of list.sql or inspect.sql.
func statusRow(r Rows) (driver.Status, error) {
	var s driver.Status
	var state string
	var age, expiresIn, freeIn int64
	err := r.Scan(&s.Key.Namespace, &s.Key.Name, &state, &s.Token, &s.Holder, &s.Note, &age, &expiresIn, &freeIn)
	if err != nil {
		return s, err
	}
	var known bool
	if s.State, known = states[state]; !known {
		return s, fmt.Errorf("state %q of lock %s is none that this version knows", state, s.Key)
	}
	s.Age, s.ExpiresIn, s.FreeIn = micros(age), micros(expiresIn), micros(freeIn)
	s.KnowPause()
	return s, nil
}

var states = map[string]driver.State{
	"free": driver.StateFree, "held": driver.StateHeld, "expired": driver.StateExpired, "closed": driver.StateClosed,
}

// Statuses reads all rows of list.sql.
func Statuses(ctx context.Context, q Querier, statement string, args ...any) (list []driver.Status, err error) {
	err = q.Query(ctx, statement, args, func(r Rows) error {
		list = []driver.Status{}
		for r.Next() {
			s, err := statusRow(r)
			if err != nil {
				return err
			}
			list = append(list, s)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// outcomes maps the words of renew.sql to outcomes.
var outcomes = map[string]driver.Outcome{
	"renewed": driver.Renewed, "lost": driver.Lost, "unknown": driver.Unknown,
}

// OutcomesInto stores the rows of renew.sql in result.
func OutcomesInto(result []driver.Outcome) func(Rows) error {
	return func(r Rows) error {
		for r.Next() {
			var n int
			var outcome string
			if err := r.Scan(&n, &outcome); err != nil {
				return err
			}
			result[n] = outcomes[outcome]
		}
		return nil
	}
}

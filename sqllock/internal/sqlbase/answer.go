// Package sqlbase contains the code that the backends for all SQL databases share: sending statements, reading their
// results, retries, and the additional connection for renewals and releases while the pool is full.
package sqlbase

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/backoff"
)

// Verdict is the column in which a statement reports what it did, or why it did nothing.
type Verdict string

const (
	Granted    Verdict = "granted"
	Locked     Verdict = "locked"
	Released   Verdict = "released"
	NotHeld    Verdict = "not held"
	Missing    Verdict = "missing"
	Again      Verdict = "again"
	OtherEpoch Verdict = "epoch" // the column epoch of the meta row identifies another server
	LongerTTL  Verdict = "ttl"   // the lease would be longer than longest_ttl_us in the meta row
	Leased     Verdict = "leased"
	MinHold    Verdict = "min hold"
	Handover   Verdict = "handover"
	Quarantine Verdict = "quarantine"
	Contended  Verdict = "contended"
	Draining   Verdict = "draining" // a transaction that has checked the fence mark is still open
	Reserved   Verdict = "reserved" // the lock was released, and is reserved for a waiter
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

// Answer is the row that a statement for one lock returns. The fields since and freeIn are in microseconds of the
// store's clock.
type Answer struct {
	Verdict       Verdict
	Token         int64
	holder, note  string
	since, freeIn int64
	Ahead         int    // how many waiters have waited longer than this one, as far as the store knows
	Pending       bool   // true if a later release may grant the request
	Done          string // the last recorded tick; set only if the lock was granted
	Readers       int    // how many shares of the lock exist
	Sealed        bool   // true if the grant raised the fence mark; set only if Seal of the request is set
}

// Dest returns the destinations for Scan, in the order of the columns that the statements return.
func (a *Answer) Dest() []any {
	return []any{&a.Verdict, &a.Token, &a.holder, &a.note, &a.since, &a.freeIn}
}

// Held returns the error for a refused request, with the details from the row.
func (a *Answer) Held() *driver.Held {
	return (&driver.Held{
		Reason: reasons[a.Verdict], Holder: a.holder, Note: a.note, Token: driver.Token(a.Token),
		Since: micros(a.since), ExpiresIn: micros(a.freeIn), Ahead: a.Ahead, Readers: a.Readers, Pending: a.Pending,
	}).KnowPause()
}

// GrantOf returns the grant to r that a reports.
func GrantOf(r driver.Request, a Answer) driver.Grant {
	return driver.Grant{
		Key: r.Key, Nonce: r.Nonce, Token: driver.Token(a.Token),
		TTL: r.TTL, MinHold: r.MinHold, HandoverDelay: r.HandoverDelay, Shared: r.Shared, Done: a.Done, Sealed: a.Sealed,
	}
}

// Tick returns the tick of a release as a parameter of release.sql: NULL if g has no tick.
func Tick(g driver.Grant) sql.NullString {
	return sql.NullString{String: g.Done, Valid: g.Done != ""}
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// These constants bound the retries within one attempt.
const (
	looks     = 3                    // how many times an attempt runs at most, if the verdict is Contended each time
	lookDelay = 2 * time.Millisecond // the delay between these runs, without jitter
	mends     = 5                    // how many repairs an attempt makes at most, such as storing the identity of a new server
)

var errUnsettled = errors.New("the server that grants the locks keeps changing: are there two primaries?")

// Settle calls the function ask until the answer is final for the caller. If the map mend has a repair for the verdict,
// Settle calls the repair and then retries the call. If the verdict is Contended, because another process intervened,
// Settle retries the call after a short delay.
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

// againLimit bounds how long Ended retries while other statements keep changing the row.
const againLimit = time.Second

var errChanging = errors.New("the row changes whenever it is read")

// Ended calls the function ask, which ends a grant, until the answer is final. It returns nil if the grant was
// released, *driver.Held if the grant is live and must not be ended, and [driver.ErrNotHeld] otherwise.
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
	err := r.Scan(&s.Key.Namespace, &s.Key.Name, &state, &s.Token, &s.Holder, &s.Note, &age, &expiresIn, &freeIn, &s.Done, &s.Readers, &s.Waiters)
	if err != nil {
		return s, err
	}
	var known bool
	if s.State, known = states[state]; !known {
		return s, fmt.Errorf("state %q of lock %s is unknown to this version of the library", state, s.Key)
	}
	s.Age, s.ExpiresIn, s.FreeIn = micros(age), micros(expiresIn), micros(freeIn)
	s.KnowPause()
	return s, nil
}

var states = map[string]driver.State{
	"free": driver.StateFree, "held": driver.StateHeld, "expired": driver.StateExpired, "closed": driver.StateClosed,
}

// Statuses runs list.sql or inspect.sql, and returns one status for each row.
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

// outcomes maps the column outcome of renew.sql and renewed.sql to an outcome.
var outcomes = map[string]driver.Outcome{
	"renewed": driver.Renewed, "lost": driver.Lost, "unknown": driver.Unknown,
}

// OutcomesInto returns a function that stores the outcomes of renew.sql in result. The column n is the index in
// result.
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

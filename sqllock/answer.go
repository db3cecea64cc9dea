package sqllock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// verdict is the word in which a statement says what it did, or why it did nothing.
type verdict string

const (
	vGranted    verdict = "granted"
	vLocked     verdict = "locked"
	vReleased   verdict = "released"
	vNotHeld    verdict = "not held"
	vMissing    verdict = "missing"
	vAgain      verdict = "again"
	vEpoch      verdict = "epoch" // the server is not the one seen last
	vTTL        verdict = "ttl"   // the lease would be longer than any before
	vLeased     verdict = "leased"
	vMinHold    verdict = "min hold"
	vHandover   verdict = "handover"
	vQuarantine verdict = "quarantine"
	vContended  verdict = "contended"
	vDraining   verdict = "draining" // a transaction has checked the mark that was to be raised
	vReserved   verdict = "reserved" // released, and kept for a waiter
)

var reasons = map[verdict]driver.Reason{
	vLeased:     driver.Leased,
	vMinHold:    driver.MinHold,
	vHandover:   driver.Handover,
	vQuarantine: driver.Quarantine,
	vContended:  driver.Contended,
	vDraining:   driver.Draining,
	vReserved:   driver.Reserved,
	vEpoch:      driver.Quarantine,
}

// answer is the one row that the statements for one lock give. Durations are the store's, in
// microseconds.
type answer struct {
	verdict       verdict
	token         int64
	holder, note  string
	since, freeIn int64
	ahead         int    // waiters that are before this one, as far as the store knows any
	missed        string // the waiter whom a grant was kept for and who did not come; only grants of a waiter have it
	pending       bool   // a release may grant the request by itself
	unlisted      bool   // the waiter should say that it waits
	epoch         string // the server that answers
	floor         int64
	sealed        bool // only grants that were to be sealed have it
}

// dest is where a row is scanned to, in the order of the statements' columns.
func (a *answer) dest() []any {
	return []any{&a.verdict, &a.token, &a.holder, &a.note, &a.since, &a.freeIn}
}

func (a *answer) held() *driver.Held {
	return (&driver.Held{
		Reason: reasons[a.verdict], Holder: a.holder, Note: a.note, Token: driver.Token(a.token),
		Since: micros(a.since), ExpiresIn: micros(a.freeIn), Ahead: a.ahead, Pending: a.pending,
	}).KnowPause()
}

func micros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// Bounds of asking again within one attempt.
const (
	looks     = 3                    // while the lock looks free and is not granted
	lookPause = 2 * time.Millisecond // between two of them
	mends     = 5                    // of what stands in the way of every grant
)

var errUnsettled = errors.New("the epoch of the lock table keeps changing: are there two primaries?")

// settle asks until the answer is one for the caller: it asks again when somebody came in between,
// and does first what stands in the way of a grant.
func settle(ctx context.Context, ask func() (answer, error), mend map[verdict]func() error) (answer, error) {
	mended := 0
	for look := 1; ; {
		a, err := ask()
		if err != nil {
			return a, err
		}
		if repair, ok := mend[a.verdict]; ok {
			if mended++; mended > mends {
				return a, driver.NotApplied(errUnsettled)
			}
			if err := repair(); err != nil {
				return a, err
			}
			continue
		}
		if a.verdict != vContended || look == looks {
			return a, nil
		}
		look++
		if err := pause(ctx, jitter(lookPause)); err != nil {
			return a, driver.NotApplied(err)
		}
	}
}

// againLimit bounds how long a grant is tried to be ended while its row keeps changing.
const againLimit = time.Second

var errChanging = errors.New("the row changes whenever it is looked at")

// ended asks until the answer is what became of a grant that was to be ended.
func ended(ctx context.Context, ask func(*answer) error) error {
	again := func(err error) bool { return errors.Is(err, errChanging) }
	return retryWithin(ctx, againLimit, again, func() error {
		var a answer
		if err := ask(&a); err != nil {
			return err
		}
		switch a.verdict {
		case vReleased:
			return nil
		case vAgain:
			return errChanging
		case vLeased:
			return a.held()
		default:
			return driver.ErrNotHeld
		}
	})
}

// statusRow scans a row of list.sql or inspect.sql.
func statusRow(r rows) (driver.Status, error) {
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

// statuses reads all rows of list.sql.
func statuses(ctx context.Context, q querier, statement string, args ...any) (list []driver.Status, err error) {
	err = q.query(ctx, statement, args, func(r rows) error {
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

// outcomes are the words of renew.sql.
var outcomes = map[string]driver.Outcome{
	"renewed": driver.Renewed, "lost": driver.Lost, "unknown": driver.Unknown,
}

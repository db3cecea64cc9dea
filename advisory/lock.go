package advisory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// timelineShift leaves the lower 40 bits of a token to the sequence. A promoted standby is on a
// larger timeline, so its tokens are larger even if it never saw the last numbers of the old primary.
const timelineShift = 40

// lockNotAvailable is the error of a wait that was long enough: for the lock, or under it for the sequence, if somebody
// changes that.
const lockNotAvailable = "55P03"

// canceled is the error of a statement that somebody cancelled, or whose time was up (statement_timeout).
const canceled = "57014"

var errTooLate = errors.New("the wait for the lock ended in the moment in which it was granted, or before its number came")

// Lock makes one try.
func (se *session) Lock(ctx context.Context, h *holding) (driver.Token, error) {
	token, had, err := se.take(ctx, try, h)
	if err == nil && !had {
		err = se.refusal(ctx, h)
	}
	return token, err
}

// take asks for the lock by one statement, and reports whether it was to be had.
func (se *session) take(ctx context.Context, verb string, h *holding) (token driver.Token, had bool, err error) {
	o := &se.store.opts
	var at int64
	var number sql.NullInt64
	dest := []any{&at, &number}
	if !o.noToken {
		dest = append(dest, new(sql.NullString))
	}
	err = se.query(ctx, o.verb(verb, h.Shared), []any{h.ID, int64(se.pid)}, dest...)
	switch {
	case err != nil && se.Broken != nil:
		return 0, false, err
	case sqlerror.State(err) == lockNotAvailable && verb == wait:
		return 0, false, nil
	case err != nil:
		err = se.failed(ctx, h, err)
		if verb == wait && sqlerror.State(err) == canceled && se.Broken == nil {
			err = nil // it was long enough
		}
		return 0, false, err
	case at != int64(se.pid):
		se.Broken = se.moved(at)
		return 0, false, driver.Permanent(se.Broken)
	case !number.Valid || o.noToken:
		return 0, number.Valid, nil
	}
	return driver.Token(se.timeline<<timelineShift | number.Int64), true, nil
}

// failed takes back what a statement that failed may have locked: the lock comes before the token.
func (se *session) failed(ctx context.Context, h *holding, err error) error {
	if se.Has(func(other *holding) bool { return other != h && other.ID == h.ID }) {
		se.Broken = err // one taking too many could not be told from the others
		return driver.NotApplied(err)
	}
	var at int64
	var unlocked bool
	undone := se.query(ctx, unlockVerb(h.Shared), []any{h.ID, int64(se.pid)}, &at, &unlocked)
	if undone != nil || at != int64(se.pid) {
		se.Broken = oneline.Join(err, undone)
	}
	switch sqlerror.State(err) {
	case lockNotAvailable, canceled: // it may be asked again
		return driver.NotApplied(err)
	}
	return err
}

// refusal says who has the lock that was not to be had.
func (se *session) refusal(ctx context.Context, h *holding) error {
	list, err := se.holders(ctx, sql.NullInt64{Int64: h.ID, Valid: true})
	if err != nil { // it is held all the same
		return refusedBy(nil)
	}
	return refusedBy(list)
}

func refusedBy(list []holder) *driver.Held {
	held := &driver.Held{Reason: driver.Leased}
	if len(list) > 0 {
		held.Holder = list[0].String()
		if more := len(list) - 1; more > 0 {
			held.Holder += fmt.Sprintf(" and %d more", more)
		}
	}
	return held
}

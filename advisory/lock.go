package advisory

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// timelineShift leaves the lower 40 bits of a token to the sequence. The upper bits are the server's timeline.
// A promoted standby has a larger timeline, so its tokens are larger even if it never received the last sequence
// numbers of the old primary.
const timelineShift = 40

// lockNotAvailable is the SQLSTATE of a statement that reached lock_timeout. The statement waited for the advisory
// lock. Or it got that lock, and then waited for the sequence, which another session had locked.
const lockNotAvailable = "55P03"

// canceled is the SQLSTATE of a statement that was cancelled or reached statement_timeout.
const canceled = "57014"

var errTooLate = errors.New("the wait for the lock timed out while the lock was being granted, or before its token was known")

// Lock makes one attempt to acquire h's lock. If another session holds the lock, the error is a [*driver.Held].
func (se *session) Lock(ctx context.Context, h *holding) (driver.Token, error) {
	token, granted, err := se.take(ctx, try, h)
	if err == nil && !granted {
		err = se.refusal(ctx, h)
	}
	return token, err
}

// take runs the statement of verb to acquire h's lock. It returns the token and whether the lock was granted.
func (se *session) take(ctx context.Context, verb string, h *holding) (token driver.Token, granted bool, err error) {
	o := &se.store.opts
	tokenless := o.NoToken || h.Shared
	var at int64
	var number sql.NullInt64
	dest := []any{&at, &number}
	if !tokenless {
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
			err = nil // the server cancelled the wait: without an error, the caller starts another wait
		}
		return 0, false, err
	case at != int64(se.pid):
		se.Broken = se.moved(at)
		return 0, false, driver.Permanent(se.Broken)
	case !number.Valid || tokenless:
		return 0, number.Valid, nil
	}
	return driver.Token(se.timeline<<timelineShift | number.Int64), true, nil
}

// failed releases the lock that a failed statement may have acquired. The statement acquires the lock before it takes
// the token, so it can fail with the lock held.
func (se *session) failed(ctx context.Context, h *holding, err error) error {
	if se.Has(func(other *holding) bool { return other != h && other.ID == h.ID }) {
		se.Broken = err // the session may now hold the lock twice, and a heartbeat cannot detect that; closing the session releases both
		return driver.NotApplied(err)
	}
	var at int64
	var unlocked bool
	undone := se.query(ctx, unlockVerb(h.Shared), []any{h.ID, int64(se.pid)}, &at, &unlocked)
	if undone != nil || at != int64(se.pid) {
		se.Broken = oneline.Join(err, undone)
	}
	switch sqlerror.State(err) {
	case lockNotAvailable, canceled: // the request may be retried
		return driver.NotApplied(err)
	}
	return err
}

// refusal returns the error for a lock that another session holds or has reserved. It names the holder if the holder is
// known.
func (se *session) refusal(ctx context.Context, h *holding) error {
	list, err := se.holders(ctx, sql.NullInt64{Int64: h.ID, Valid: true})
	if err != nil { // a session holds the lock, but the query did not find that session
		return refusedBy(nil, false)
	}
	return refusedBy(list, h.Shared)
}

// refusedBy returns the refusal for a lock that the sessions in list hold. The parameter share says that the refused
// request is for a share. Readers do not exclude each other, so if readers hold the lock, the reason for the refusal
// is a waiting writer.
func refusedBy(list []holder, share bool) *driver.Held {
	held := &driver.Held{Reason: driver.Leased, Readers: readers(list)}
	if share && held.Readers > 0 {
		held.Reason = driver.Reserved
	}
	if len(list) > 0 {
		held.Holder = list[0].String()
	}
	return held
}

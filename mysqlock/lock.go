package mysqlock

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

// Lock makes one attempt to acquire h's lock. If another session holds the lock, the error is a [*driver.Held].
func (se *session) Lock(ctx context.Context, h *holding) (driver.Token, error) {
	token, granted, err := se.take(ctx, h, 0)
	switch {
	case err != nil:
		return 0, se.failed(ctx, h, err)
	case !granted:
		return 0, se.refusal(ctx, h)
	}
	return token, nil
}

// take requests h's lock. The server waits for the lock for at most as many seconds as the parameter wait says. It
// returns the token, or 0 with the option NoToken, and whether the lock was granted.
func (se *session) take(ctx context.Context, h *holding, wait int) (driver.Token, bool, error) {
	verb := "acquire"
	if se.backend.opts.NoToken {
		verb = "lock"
	}
	var number sql.NullInt64
	err := se.query(ctx, verb, []any{se.name(h), wait}, &number)
	if err != nil || number.Int64 == 0 || se.backend.opts.NoToken {
		return 0, number.Int64 != 0, err
	}
	token, err := se.token(ctx, number.Int64)
	if err != nil {
		return 0, false, err
	}
	se.describe(ctx, h, token)
	return token, true, nil
}

// token returns the token for a number that the server made while the session held the lock. The first grant of a session
// has to read the mint, so that a refused request does not. Once for reservedTokens tokens, a grant has to reserve more.
// Both then use a later number.
func (se *session) token(ctx context.Context, number int64) (driver.Token, error) {
	m, err := se.mint, error(nil)
	if !m.known() {
		m, number, err = se.backend.minting(ctx, se.conn)
	}
	token, reserved := m.of(number)
	if err == nil && !reserved {
		m, number, err = se.backend.reserve(ctx, se.conn)
		token, _ = m.of(number)
	}
	switch {
	case driver.IsPermanent(err): // the row makes no tokens, but the session is as good as before
		return 0, err
	case err != nil:
		return 0, se.note(ctx, err)
	}
	se.mint = m
	return token, nil
}

// After a failed statement, the method failed releases the lock that the statement may have acquired. The statement
// acquires the lock before its token is made. So the session may hold the lock although the statement has failed.
func (se *session) failed(ctx context.Context, h *holding, err error) error {
	if se.Broken != nil {
		return err
	}
	var released sql.NullInt64
	if undone := se.query(ctx, "unlock", []any{se.name(h)}, &released); undone != nil {
		se.Broken = oneline.Join(err, undone)
	}
	if driver.IsPermanent(err) {
		return err
	}
	return driver.NotApplied(err)
}

// refusal returns the error for a lock that was not granted. The error names the current holder, or says that the
// server has become read-only.
func (se *session) refusal(ctx context.Context, h *holding) error {
	found, err := se.backend.record(ctx, se.conn, h.Key)
	switch {
	case se.note(ctx, err) != nil && se.Broken != nil:
		return err
	case err != nil: // the lock is held by a connection that this query did not find
		return &driver.Held{Reason: driver.Leased}
	case found.readOnly:
		se.Broken = errReadOnly
		return driver.Permanent(errReadOnly)
	case !found.heldBy.Valid: // the holder has released the lock since the attempt
		return &driver.Held{Reason: driver.Contended}
	}
	return found.refusal()
}

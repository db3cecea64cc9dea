package mysqlock

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/internal/sqlbind"
	"github.com/rowlock/rowlock/internal/sqlerror"
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
// returns the token and whether the lock was granted. The token is 0 for a second or further lock of a connection. For
// the first lock, the same statement also makes the token.
func (se *session) take(ctx context.Context, h *holding, wait int) (driver.Token, bool, error) {
	if se.backend.opts.noToken || se.Has(func(other *holding) bool { return other != h }) {
		var answer sql.NullInt64
		err := se.query(ctx, "lock", []any{se.name(h), wait}, &answer)
		return 0, answer.Int64 == 1, err
	}
	token, changed, err := se.exec(ctx, "acquire", append(names(h.Key), sqlbind.MySQLText(h.Holder), sqlbind.MySQLText(h.Note), se.name(h), wait)...)
	if err == nil && token == 0 && changed {
		err = driver.Permanent(errHidden)
	}
	return driver.Token(token), token != 0, err
}

// After a failed statement, the method failed releases the lock that the statement may have acquired. The statement
// acquires the lock before it makes the token. So the session may hold the lock although the statement has failed.
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

// transient reports whether the server rolled the statement back and a retry may succeed. The causes are a deadlock,
// a wait for a row that took too long, a row that has changed (MariaDB), and a statement that must be prepared again.
func transient(err error) bool {
	switch sqlerror.MySQL(err) {
	case 1213, 1205, 1020, 1615:
		return true
	default:
		return false
	}
}

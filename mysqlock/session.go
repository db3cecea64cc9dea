package mysqlock

import (
	"context"
	"database/sql"
	"encoding/json"
	"slices"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// holding is a grant of this backend, or a request for one.
type holding = sessionlock.Holding[driver.Key]

// session is one connection and the locks that it holds.
type session struct {
	*sessionlock.Session[driver.Key]

	backend *Backend
	conn    *conn // nil until Connect borrows a connection
	mint    mint  // not set before the session's first grant, and with the option NoToken
	watched bool

	described map[driver.Key]description
}

// name returns the name by which the server knows h's lock.
func (se *session) name(h *holding) string {
	return LockName(se.conn.schema, h.Key.Namespace, h.Key.Name)
}

// GiveBack returns the connection to its pool.
func (se *session) GiveBack() {
	if se.conn != nil {
		se.conn.giveBack()
	}
}

// Destroy closes the connection.
func (se *session) Destroy() {
	if se.conn != nil {
		se.conn.destroy()
	}
}

// query runs a statement. If the error is not an answer of the server, nobody knows what the session holds,
// and query marks the session as broken.
func (se *session) query(ctx context.Context, verb string, args []any, dest ...any) error {
	return se.note(ctx, se.conn.query(ctx, se.backend.sql[verb], args, dest...))
}

func (se *session) note(ctx context.Context, err error) error {
	if err != nil && !plain(ctx, err) {
		se.Broken = err
	}
	return err
}

// proofSize is the largest number of locks that one statement checks.
const proofSize = 1000

// Prove checks that the session holds these locks and that the server is not read-only.
// Otherwise it marks the session as broken.
func (se *session) Prove(ctx context.Context, list []*holding) error {
	asked := make([]string, len(list))
	for i, h := range list {
		asked[i] = se.name(h)
	}
	for part := range slices.Chunk(asked, proofSize) {
		if err := se.owns(ctx, part); err != nil || se.Broken != nil {
			return err
		}
	}
	if !se.backend.opts.NoToken {
		se.describeAll(list)
	}
	return nil
}

// owns marks the session as broken unless the session holds all these locks and the server is writable.
func (se *session) owns(ctx context.Context, locks []string) error {
	text, err := json.Marshal(locks)
	if err != nil {
		return err
	}
	var owned int
	var readOnly bool
	err = se.query(ctx, "owned", []any{string(text)}, &owned, &readOnly)
	switch {
	case err != nil:
		return err
	case readOnly:
		se.Broken = errReadOnly
	case owned != len(locks):
		se.Broken = sessionlock.ErrMissing
	}
	return nil
}

// Unlock releases h's lock, and reports whether the session had it.
func (se *session) Unlock(ctx context.Context, h *holding) (bool, error) {
	var released sql.NullInt64
	err := se.query(ctx, "unlock", []any{se.name(h)}, &released)
	if err != nil { // even if the error is an answer of the server, it is uncertain whether the lock was released
		se.Broken = err
	}
	if d, known := se.described[h.Key]; known {
		d.released = time.Now()
		se.described[h.Key] = d
	}
	return released.Int64 == 1, err
}

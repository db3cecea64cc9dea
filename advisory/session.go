package advisory

import (
	"context"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// holding is one grant, or one that is being asked for.
type holding = sessionlock.Holding[int64]

// session is one connection with the locks that live on it. Between turns a goroutine reads from the
// connection, so that its end is noticed at once.
type session struct {
	*sessionlock.Session[int64]

	store    *store
	conn     conn // nil until it is needed
	pid      uint32
	timeline int64
	watched  chan struct{} // closed when nobody reads between turns any more; nil when nobody does
}

var _ sessionlock.Queuer[int64] = (*session)(nil)

// Ended reports whether the connection is known to have ended.
func (se *session) Ended() bool { return se.conn != nil && se.conn.closed() }

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

// query runs a statement. After an error the session may not be in the state that we think, unless
// the server has answered.
func (se *session) query(ctx context.Context, verb string, args []any, dest ...any) error {
	err := se.conn.query(ctx, se.pid == 0, se.store.sql[verb], args, dest...)
	if err != nil && !plain(ctx, se.conn, err) {
		se.Broken = err
	}
	return err
}

// moved says that another server process answered than the one that the session began with.
func (se *session) moved(then int64) error {
	return &PoolerError{Told: se.conn.told(), PID: se.pid, Then: uint32(then)} //nolint:gosec // a process number
}

// place is how the server knows a lock of a session.
type place struct {
	id     int64
	shared bool
}

// Prove looks whether the session has all that it should, because one that is missing says that we know
// nothing.
func (se *session) Prove(ctx context.Context, _ []*holding) error {
	owned, err := se.owned(ctx)
	if err == nil && se.Broken == nil && se.Has(func(h *holding) bool { return !owned[place{h.ID, h.Shared}] }) {
		se.Broken = sessionlock.ErrMissing
	}
	return err
}

// owned is what the server says that the session holds.
func (se *session) owned(ctx context.Context) (map[place]bool, error) {
	var at int64
	var text string
	if err := se.query(ctx, "owned", nil, &at, &text); err != nil {
		return nil, err
	}
	owned := map[place]bool{}
	if at != int64(se.pid) {
		se.Broken = se.moved(at)
		return owned, nil
	}
	for word := range strings.FieldsSeq(text) {
		number, shared := strings.CutSuffix(word, "s")
		id, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			return nil, err
		}
		owned[place{id, shared}] = true
	}
	return owned, nil
}

// Unlock checks the server's answer: one that did not have the lock has told us that we do not know the
// state of this session.
func (se *session) Unlock(ctx context.Context, h *holding) error {
	var at int64
	var unlocked bool
	err := se.query(ctx, unlockVerb(h.Shared), []any{h.ID, int64(se.pid)}, &at, &unlocked)
	switch {
	case err != nil && se.Over(err): // before it came to the unlock
		return driver.ErrNotHeld
	case err != nil:
		return err
	case at != int64(se.pid):
		se.Broken = se.moved(at)
	case !unlocked:
		se.Broken = sessionlock.ErrMissing
	default:
		return nil
	}
	return driver.ErrNotHeld
}

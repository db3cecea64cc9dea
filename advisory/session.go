package advisory

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rowlock/rowlock/internal/sessionlock"
)

// holding is a grant of this backend, or a request for one.
type holding = sessionlock.Holding[int64]

// session is one connection and the locks that it holds. Between statements, a goroutine reads from the connection
// to notice at once when the connection ends.
type session struct {
	*sessionlock.Session[int64]

	store    *store
	conn     conn // nil until Connect borrows a connection
	pid      uint32
	timeline int64
	watched  chan struct{} // closed when the goroutine that reads has returned; nil if none was asked for
	starts   *time.Timer   // starts that goroutine; nil until the first Watch
}

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

// query runs a statement. If the error is not an answer of the server, nobody knows what the session holds,
// and query marks the session as broken.
func (se *session) query(ctx context.Context, verb string, args []any, dest ...any) error {
	err := se.conn.query(ctx, se.pid == 0, se.store.sql[verb], args, dest...)
	if err != nil && !plain(ctx, se.conn, err) {
		se.Broken = err
	}
	return err
}

// moved returns the error for a session whose last statement was answered by another server process.
func (se *session) moved(then int64) error {
	return &PoolerError{Told: se.conn.loginPID(), PID: se.pid, Then: uint32(then)} //nolint:gosec // a process number
}

// place is a lock as owned.sql reports it: its number and its mode.
type place struct {
	id     int64
	shared bool
}

// Prove checks that the server reports all locks of the session. If one is missing, Prove marks the session
// as broken.
func (se *session) Prove(ctx context.Context, list []*holding) error {
	owned, err := se.owned(ctx)
	missing := func(h *holding) bool { return !owned[place{h.ID, h.Shared}] }
	if err == nil && se.Broken == nil && slices.ContainsFunc(list, missing) {
		se.Broken = sessionlock.ErrMissing
	}
	return err
}

// owned returns the locks that the session holds according to the server.
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

// Unlock releases h's lock, and reports whether the session had it.
func (se *session) Unlock(ctx context.Context, h *holding) (unlocked bool, err error) {
	var at int64
	err = se.query(ctx, unlockVerb(h.Shared), []any{h.ID, int64(se.pid)}, &at, &unlocked)
	if err == nil && at != int64(se.pid) {
		se.Broken = se.moved(at)
	}
	return unlocked, err
}

package advisory

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// timelineShift leaves the lower 40 bits of a token to the sequence. A promoted standby is on a
// larger timeline, so its tokens are larger even if it never saw the last numbers of the old primary.
const timelineShift = 40

// Acquire implements [driver.Backend]. A name that is held through this backend is refused without
// asking the server, which would grant it again to the session that has it.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	if err := unkeepable(r); err != nil {
		return driver.Grant{}, err
	}
	id := b.keyOf(r.Key)
	for {
		h, isNew, inTheWay := b.reserve(id, b.shared, r)
		var g driver.Grant
		var err error
		switch {
		case inTheWay != nil:
			err = b.refused(ctx, inTheWay)
		case isNew:
			g, err = b.ask(ctx, h)
		default:
			g, err = b.again(ctx, h, r)
		}
		if !errors.Is(err, errGone) { // else the session ended before it was asked
			return g, explain(ctx, b.table, "acquire", r.Key, err)
		}
	}
}

// ask asks the server for what h says.
func (b *Backend) ask(ctx context.Context, h *holding) (driver.Grant, error) {
	se, err := b.anyTurn(ctx)
	if err != nil {
		b.forget(h)
		return driver.Grant{}, driver.NotApplied(err)
	}
	var g driver.Grant
	err = se.run(ctx, h, func(ctx context.Context) (err error) {
		g, err = se.lock(ctx, h)
		return err
	})
	if err != nil {
		return driver.Grant{}, err
	}
	return g, nil
}

// refused answers for the server what is held here. Where nobody reads from the connection between
// statements, it may have ended without our knowing.
func (b *Backend) refused(ctx context.Context, h *holding) error {
	b.mu.Lock()
	held, se := h.held(), h.session
	noticed := !h.granted || se.watches
	b.mu.Unlock()
	if noticed {
		return held
	}
	outcome, err := se.prove(ctx, []*holding{h})
	if err == nil && outcome[0] != driver.Renewed {
		return errGone
	}
	return held
}

// again answers a request that was sent before. A grant must be proven before it is trusted anew.
func (b *Backend) again(ctx context.Context, h *holding, r driver.Request) (driver.Grant, error) {
	select {
	case <-h.asking:
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
	b.mu.Lock()
	g, se := h.grant, h.session
	granted := h.granted
	if granted {
		h.grant.TTL = r.TTL
		g.TTL = r.TTL
	}
	b.mu.Unlock()
	if !granted {
		return driver.Grant{}, errGone // it is forgotten: ask anew
	}
	switch outcome, err := se.prove(ctx, []*holding{h}); {
	case err != nil:
		return driver.Grant{}, err
	case outcome[0] != driver.Renewed:
		return driver.Grant{}, errGone
	}
	return g, nil
}

// lock makes one try on the connection. It may go on when nobody waits for its outcome any more: what
// it is granted stays in the bookkeeping, for whoever asks by its nonce.
func (se *session) lock(ctx context.Context, h *holding) (driver.Grant, error) {
	s := se.store
	s.mu.Lock()
	h.session, se.watches = se, se.conn.watches()
	se.holdings[h] = struct{}{}
	alone := true // what the server has for this key and session is this holding's
	for other := range se.holdings {
		alone = alone && (other == h || other.id != h.id)
	}
	s.mu.Unlock()

	var at int64
	var number sql.NullInt64
	dest := []any{&at, &number}
	if !s.opts.noToken {
		dest = append(dest, new(sql.NullString))
	}
	err := se.query(ctx, s.opts.lockVerb(h.shared), []any{h.id, int64(se.pid)}, dest...)
	switch {
	case se.broken != nil && over(err):
		return driver.Grant{}, driver.NotApplied(errGone)
	case se.broken != nil:
		return driver.Grant{}, err // everything on it is forgotten with the session
	case err != nil:
		return driver.Grant{}, se.failed(ctx, h, alone, err)
	case at != int64(se.pid):
		se.broken = se.moved(at)
		return driver.Grant{}, driver.Permanent(se.broken)
	case !number.Valid:
		s.forget(h)
		return driver.Grant{}, se.refusal(ctx, h)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.opts.noToken {
		h.grant.Token = driver.Token(se.timeline<<timelineShift | number.Int64)
	}
	h.granted, h.since = true, time.Now()
	close(h.asking)
	return h.grant, nil
}

// failed takes back what a statement that failed may have locked: the lock comes before the token.
func (se *session) failed(ctx context.Context, h *holding, alone bool, err error) error {
	defer se.store.forget(h)
	var at int64
	var unlocked bool
	if !alone { // one taking too many could not be told from the others
		se.broken = err
		return driver.NotApplied(err)
	}
	undone := se.query(ctx, unlockVerb(h.shared), []any{h.id, int64(se.pid)}, &at, &unlocked)
	if undone != nil || at != int64(se.pid) {
		se.broken = errors.Join(err, undone)
	}
	if sqlerror.State(err) == "57014" { // cancelled, or its time was up: it may be asked again
		return driver.NotApplied(err)
	}
	return err
}

// moved says that another server process answered than the one that the session began with.
func (se *session) moved(then int64) error {
	return &PoolerError{Told: se.conn.told(), PID: se.pid, Then: uint32(then)} //nolint:gosec // a process number
}

// refusal says who has the lock that was not to be had.
func (se *session) refusal(ctx context.Context, h *holding) error {
	held := &driver.Held{Reason: driver.Leased}
	list, err := se.holders(ctx, sql.NullInt64{Int64: h.id, Valid: true})
	if err == nil && len(list) > 0 { // else it is held all the same
		held.Holder = list[0].String()
		if more := len(list) - 1; more > 0 {
			held.Holder += fmt.Sprintf(" and %d more", more)
		}
	}
	return held
}

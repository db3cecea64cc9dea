package mysqlock

import (
	"context"
	"database/sql"
	"errors"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlerror"
)

// Acquire implements [driver.Backend]. A name that is held through this backend is refused without
// asking the server, which would grant it again to the session that has it.
func (b *Backend) Acquire(ctx context.Context, r driver.Request) (driver.Grant, error) {
	return b.acquire(ctx, r, func(h *holding) (driver.Grant, error) { return b.ask(ctx, h) }, nil)
}

// acquire asks for what is not known here. With wait, it waits for what is held here.
func (b *Backend) acquire(ctx context.Context, r driver.Request, ask func(*holding) (driver.Grant, error), wait func(*holding) error) (driver.Grant, error) {
	if err := b.ready(ctx); err != nil {
		return driver.Grant{}, err
	}
	if err := unkeepable(r); err != nil {
		return driver.Grant{}, err
	}
	for {
		h, isNew, inTheWay := b.reserve(r)
		var g driver.Grant
		var err error
		switch {
		case inTheWay != nil && wait != nil:
			if err = wait(inTheWay); err == nil {
				continue
			}
		case inTheWay != nil:
			err = b.refusedBy(inTheWay)
		case isNew:
			g, err = ask(h)
		default:
			g, err = b.again(ctx, h, r)
		}
		if !errors.Is(err, errGone) { // else the session ended before it was asked
			return g, explain(ctx, b.table, "acquire", r.Key, err)
		}
	}
}

func (b *Backend) refusedBy(h *holding) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return h.refusal()
}

// ask makes one try.
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
	return b.numbered(ctx, h, g)
}

// again answers a request that was sent before. A grant must be proven before it is trusted anew.
func (b *Backend) again(ctx context.Context, h *holding, r driver.Request) (driver.Grant, error) {
	select {
	case <-h.asking:
	case <-ctx.Done():
		return driver.Grant{}, ctx.Err()
	}
	b.mu.Lock()
	granted, se := h.granted, h.session
	h.grant.TTL = r.TTL
	g := h.grant
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
	return b.numbered(ctx, h, g)
}

// settle has the session take h on, unless somebody here was granted the key meanwhile.
func (se *session) settle(h *holding) (inTheWay error) {
	b := se.backend
	b.mu.Lock()
	defer b.mu.Unlock()
	if other := b.held[h.grant.Key]; other != nil {
		defer b.drop(h)
		return other.refusal()
	}
	h.session, h.lock = se, LockName(se.conn.schema, h.grant.Key.Namespace, h.grant.Key.Name)
	se.holdings[h] = struct{}{}
	return nil
}

// lock makes one try on the connection. It may go on when nobody waits for its outcome any more: what
// it is granted stays in the bookkeeping, for whoever asks by its nonce.
func (se *session) lock(ctx context.Context, h *holding) (driver.Grant, error) {
	if err := se.settle(h); err != nil {
		return driver.Grant{}, err
	}
	b := se.backend
	b.mu.Lock()
	alone := len(se.holdings) == 1
	b.mu.Unlock()
	var token int64
	var granted bool
	var err error
	if alone && !b.opts.noToken {
		token, err = se.exec(ctx, "acquire", append(names(h.grant.Key), hexedText(h.holder), hexedText(h.note), h.lock)...)
		granted = token != 0
	} else {
		var answer sql.NullInt64
		err = se.query(ctx, "lock", []any{h.lock, 0}, &answer)
		granted = answer.Int64 == 1
	}
	switch {
	case err != nil:
		return driver.Grant{}, se.failed(ctx, h, err)
	case !granted:
		b.forget(h)
		return driver.Grant{}, se.refusal(ctx, h)
	}
	return se.granted(h, token), nil
}

// failed takes back what a statement that failed may have locked: the lock comes before the token.
func (se *session) failed(ctx context.Context, h *holding, err error) error {
	if se.broken != nil { // everything on it is forgotten with the session
		if over(err) {
			return driver.NotApplied(errGone)
		}
		return err
	}
	defer se.backend.forget(h)
	var released sql.NullInt64
	if undone := se.query(ctx, "unlock", []any{h.lock}, &released); undone != nil {
		se.broken = errors.Join(err, undone)
	}
	return driver.NotApplied(err)
}

// refusal says why a lock was not to be had: who has it, or that the server has become read-only.
func (se *session) refusal(ctx context.Context, h *holding) error {
	found, err := se.backend.record(ctx, se.conn, h.grant.Key)
	switch {
	case se.note(ctx, err) != nil && se.broken != nil:
		return err
	case err != nil: // it is held all the same
		return &driver.Held{Reason: driver.Leased}
	case found.readOnly:
		se.broken = errReadOnly
		return driver.Permanent(errReadOnly)
	case !found.heldBy.Valid: // not any more
		return &driver.Held{Reason: driver.Contended}
	}
	return found.refusal()
}

// query runs a statement. After an error the session may not be in the state that we think, unless
// the server has answered.
func (se *session) query(ctx context.Context, verb string, args []any, dest ...any) error {
	return se.note(ctx, se.conn.query(ctx, se.backend.sql[verb], args, dest...))
}

func (se *session) exec(ctx context.Context, verb string, args ...any) (int64, error) {
	token, err := se.conn.exec(ctx, se.backend.sql[verb], args)
	return token, se.note(ctx, err)
}

func (se *session) note(ctx context.Context, err error) error {
	if err != nil && !plain(ctx, err) {
		se.broken = err
	}
	return err
}

// transient recognises what the server undid, and what may succeed when it is sent again: a deadlock,
// a wait for a row that took too long, a row that has changed (MariaDB), a statement to be prepared again.
func transient(err error) bool {
	switch sqlerror.MySQL(err) {
	case 1213, 1205, 1020, 1615:
		return true
	default:
		return false
	}
}

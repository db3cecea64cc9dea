package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock"
)

var (
	errElsewhere = errors.New("the lease has no row in the guard's database and table: give the guard the database and table of the lock")
	errOutdated  = errors.New("the lease has expired in the transaction's snapshot, which may be older than the last renewal: call CheckHeld first, then read")
)

// leaseRow is the lease table's row of a lock.
type leaseRow struct {
	token int64
	nonce sql.NullString // NULL after a release
	state string         // live, expired, or outdated
}

// leaseRow reads the row of the claim's lock in q's transaction.
func (m marks) leaseRow(ctx context.Context, q querier, c claim) (leaseRow, error) {
	var l leaseRow
	found, err := q.row(ctx, m.sql["held"], m.key(c, c.lease.Name()), &l.token, &l.nonce, &l.state)
	if err == nil && !found {
		err = errElsewhere
	}
	return l, err
}

// held returns nil if the claim's lease is alive.
func (m marks) held(ctx context.Context, q querier, c claim) error {
	l, err := m.leaseRow(ctx, q, c)
	switch {
	case err != nil:
		return err
	case l.nonce.String != c.nonce || l.token != int64(c.lease.Token()) || l.state == "expired":
		return c.lost()
	case l.state == "live":
		return nil
	case l.state == "outdated":
		return retry(errOutdated)
	default:
		return fmt.Errorf("the state of the lease is %q", l.state)
	}
}

// release ends the claim's lease when q's transaction commits, if the lease is alive. If the lease belongs to a tick of
// rowlock.Once, the commit records the tick as done.
func (m marks) release(ctx context.Context, q querier, c claim) error {
	tick := sql.NullString{String: m.encode(c.lease.Tick()), Valid: c.lease.Tick() != ""}
	args := append([]any{c.lease.MinHold().Microseconds(), tick}, m.key(c, c.lease.Name())...)
	rows, err := q.change(ctx, m.sql["release_lease"], append(args, c.nonce, int64(c.lease.Token()))...)
	if err != nil || rows == 1 {
		return err
	}
	if _, err := m.leaseRow(ctx, q, c); err != nil {
		return err
	}
	return c.lost()
}

// lost returns the error for a lease that has ended in the database, although the holder's own deadline may not be
// over.
func (c claim) lost() error {
	return &rowlock.LostError{Namespace: c.namespace, Name: c.lease.Name(), Token: c.lease.Token(), Reason: rowlock.LostTaken}
}

func (*postgres) keeper() string { return "sqllock/postgres" }
func (*mysql) keeper() string    { return "sqllock/mysql" }
func (*sqlite) keeper() string   { return "sqllock/sqlite" }

func (p *postgres) held(ctx context.Context, q querier, c claim) error {
	return p.classify(p.marks.held(ctx, q, c))
}

func (p *postgres) release(ctx context.Context, q querier, c claim) error {
	return p.classify(p.marks.release(ctx, q, c))
}

func (m *mysql) held(ctx context.Context, q querier, c claim) error {
	return m.classify(m.marks.held(ctx, q, c))
}

func (m *mysql) release(ctx context.Context, q querier, c claim) error {
	return m.classify(m.marks.release(ctx, q, c))
}

func (s *sqlite) held(ctx context.Context, q querier, c claim) error {
	return s.classify(ctx, q, s.marks.held(ctx, q, c))
}

func (s *sqlite) release(ctx context.Context, q querier, c claim) error {
	return s.classify(ctx, q, s.marks.release(ctx, q, c))
}

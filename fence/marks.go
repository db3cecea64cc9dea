package fence

import (
	"cmp"
	"context"
)

// marks reads and raises the rows of the fence table. It is common to all dialects.
type marks struct {
	sql    statements
	encode func(string) string // encodes a name as a parameter of a statement
}

// key returns the arguments that identify one mark.
func (m marks) key(c claim, resource string) []any {
	return m.name(c.namespace, resource)
}

func (m marks) name(namespace, resource string) []any {
	return []any{m.encode(namespace), m.encode(resource)}
}

// read returns the mark that is visible to this transaction, or the zero mark if there is none.
func (m marks) read(ctx context.Context, q querier, c claim, resource string) (mark, error) {
	var now mark
	_, err := q.row(ctx, m.sql["read"], m.key(c, resource), &now.token, &now.nonce, &now.domain)
	return now, err
}

// raise raises every mark of the claim, in q's transaction. It skips a mark that already belongs to the lease, so that
// a second seal does not wait for the lease's own transactions.
func (m marks) raise(ctx context.Context, q querier, c claim) error {
	raised := false
	for _, r := range c.resources {
		wrote, err := m.lift(ctx, q, c, r)
		if err != nil {
			return err
		}
		if !wrote {
			continue
		}
		now, err := m.read(ctx, q, c, r)
		if err != nil {
			return err
		}
		if !now.isOf(c) {
			return cmp.Or(c.mayRaise(r, now), c.refuse(r, now))
		}
		raised = true
	}
	if raised && c.mint != nil {
		return c.mint.prove(ctx)
	}
	return nil
}

// lift raises one mark if a read without a lock shows that the mark is older than the claim. The result sent says
// whether lift sent the statement that raises the mark. That statement locks the mark and compares it with the claim
// again.
func (m marks) lift(ctx context.Context, q querier, c claim, resource string) (sent bool, err error) {
	now, err := m.read(ctx, q, c, resource)
	if err != nil || now.isOf(c) {
		return false, err
	}
	if err := c.mayRaise(resource, now); err != nil {
		return false, err
	}
	if c.mint != nil {
		if c.mint.before(resource) {
			return false, c.refuse(resource, now)
		}
		return true, q.exec(ctx, m.sql["mint"], append(m.key(c, resource), c.nonce, m.encode(c.domain))...)
	}
	return true, q.exec(ctx, m.sql["raise"], append(m.key(c, resource), c.token, c.nonce, m.encode(c.domain))...)
}

package fence

import (
	"cmp"
	"context"
)

// marks reads and raises the rows of the fence table: what all dialects have in common.
type marks struct {
	sql    statements
	encode func(string) string // how the statements take names
	decode func(string) string // and give them back
}

// key is the arguments that name one mark.
func (m marks) key(c claim, resource string) []any {
	return m.name(c.namespace, resource)
}

func (m marks) name(namespace, resource string) []any {
	return []any{m.encode(namespace), m.encode(resource)}
}

// read is the mark as committed or as this transaction has left it; the zero mark if there is none.
func (m marks) read(ctx context.Context, q querier, c claim, resource string) (mark, error) {
	var now mark
	_, err := q.row(ctx, m.sql["read"], m.key(c, resource), &now.token, &now.nonce, &now.domain)
	now.domain = m.decode(now.domain)
	return now, err
}

// raise raises every mark of the claim, in q's transaction. A mark that is the lease's own already
// is left alone, so that sealing again does not wait for the lease's own transactions.
func (m marks) raise(ctx context.Context, q querier, c claim) error {
	for _, r := range c.resources {
		now, err := m.read(ctx, q, c, r)
		if err != nil || now.isOf(c) {
			if err != nil {
				return err
			}
			continue
		}
		if err := c.mayRaise(r, now); err != nil {
			return err
		}
		if err := q.exec(ctx, m.sql["raise"], append(m.key(c, r), c.token, c.nonce, m.encode(c.domain))...); err != nil {
			return err
		}
		if now, err = m.read(ctx, q, c, r); err != nil {
			return err
		}
		if !now.isOf(c) {
			return cmp.Or(c.mayRaise(r, now), c.refuse(r, now))
		}
	}
	return nil
}

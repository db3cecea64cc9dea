package advisory

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// OnSession runs a statement on the connection of b's first session, without changing what b has recorded about that
// session.
func (b *Backend) OnSession(ctx context.Context, statement string) error {
	se := b.locks.Sessions()[0].(*session)
	if err := se.Take(ctx); err != nil {
		return err
	}
	return se.Run(ctx, nil, func(ctx context.Context) error { return se.conn.exec(ctx, statement) })
}

// Busy reserves every session of b, so that no other call can use them, until the returned function is called.
func (b *Backend) Busy(ctx context.Context) (func(), error) {
	list := b.locks.Sessions()
	for _, se := range list {
		if err := se.(*session).Take(ctx); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, se := range list {
			se.Unwatch()
			se.(*session).Leave()
		}
	}, nil
}

// WithKey makes b compute the number of a lock with f.
func (b *Backend) WithKey(f func(driver.Key) int64) *Backend {
	b.locks.KeyOf = f
	return b
}

// MemoryOfReleases is how many releases a backend remembers.
const MemoryOfReleases = sessionlock.Remembered

// Statement returns the SQL text of b's statement with this verb.
func (b *Backend) Statement(verb string) string { return b.sql[verb] }

// InTxBy is InTx with the function try in place of a transaction. The function try sends each statement.
func InTxBy(ctx context.Context, name string, try func(statement string, id int64, dest ...any) error) error {
	return inTx(ctx, name, nil, try)
}

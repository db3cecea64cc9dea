package advisory

import (
	"context"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sessionlock"
)

// OnSession runs a statement on the first session of b, without the backend's knowledge.
func (b *Backend) OnSession(ctx context.Context, statement string) error {
	se := b.locks.Sessions()[0].(*session)
	if err := se.Take(ctx); err != nil {
		return err
	}
	return se.Run(ctx, nil, func(ctx context.Context) error { return se.conn.exec(ctx, statement) })
}

// Busy takes the turn of every session of b until the returned function is called.
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

// WithKey makes b compute keys with f.
func (b *Backend) WithKey(f func(driver.Key) int64) *Backend {
	b.keyOf = f
	return b
}

// MemoryOfReleases is how many releases a backend remembers.
const MemoryOfReleases = sessionlock.Remembered

// Statement returns the text of a verb for b.
func (b *Backend) Statement(verb string) string { return b.sql[verb] }

// InTxBy is InTx with another function that sends statements.
func InTxBy(ctx context.Context, name string, try func(statement string, id int64, dest ...any) error) error {
	return inTx(ctx, name, nil, try)
}

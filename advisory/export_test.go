package advisory

import (
	"context"

	"github.com/rowlock/rowlock/driver"
)

// OnSession runs a statement on a session of b that holds something, behind its back.
func (b *Backend) OnSession(ctx context.Context, statement string) error {
	b.mu.Lock()
	se := b.sessions[0]
	b.mu.Unlock()
	if err := se.take(ctx); err != nil {
		return err
	}
	return se.run(ctx, nil, func(ctx context.Context) error { return se.conn.exec(ctx, statement) })
}

// Busy takes the turn of every session of b until the function that it returns is called.
func (b *Backend) Busy(ctx context.Context) (func(), error) {
	b.mu.Lock()
	list := append([]*session(nil), b.sessions...)
	b.mu.Unlock()
	for _, se := range list {
		if err := se.take(ctx); err != nil {
			return nil, err
		}
	}
	return func() {
		for _, se := range list {
			se.unwatch()
			se.leave()
		}
	}, nil
}

// WithKey has b know names by another number.
func (b *Backend) WithKey(f func(driver.Key) int64) *Backend {
	b.keyOf = f
	return b
}

// MemoryOfReleases is how many releases a backend remembers.
const MemoryOfReleases = len(memory{}.list)

// Statement is the text of a verb for b.
func (b *Backend) Statement(verb string) string { return b.sql[verb] }

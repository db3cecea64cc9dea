package postgres

import (
	"context"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// List returns the locks of a namespace, or of all namespaces.
func (p *Backend) List(ctx context.Context, namespace string, all bool) ([]driver.Status, error) {
	var list []driver.Status
	err := p.run(ctx, []any{namespace, sqlbase.Flag(all)}, func(args []any) (err error) {
		list, err = sqlbase.Statuses(ctx, p.q, p.sql["list"], args...)
		return err
	})
	if err != nil {
		return nil, p.classify(ctx, "list", driver.Key{Namespace: namespace}, err)
	}
	return list, nil
}

// Inspect returns the state of one lock.
func (p *Backend) Inspect(ctx context.Context, key driver.Key) (driver.Status, error) {
	var list []driver.Status
	err := p.run(ctx, []any{key.Namespace, key.Name}, func(args []any) (err error) {
		list, err = sqlbase.Statuses(ctx, p.q, p.sql["inspect"], args...)
		return err
	})
	if err != nil {
		return driver.Status{}, p.classify(ctx, "inspect", key, err)
	}
	if len(list) == 0 {
		return driver.Status{Key: key}, nil
	}
	return list[0], nil
}

// ForceRelease ends the grant of key that has this token, and raises the token so that the holder is fenced. If the
// lease has not expired, ForceRelease ends the grant only if live is true.
func (p *Backend) ForceRelease(ctx context.Context, key driver.Key, token driver.Token, live bool) error {
	args := []any{key.Namespace, key.Name, int64(token), sqlbase.Flag(live)}
	err := sqlbase.Ended(ctx, func(a *sqlbase.Answer) error {
		_, err := p.one(ctx, "force_release", args, append(a.Dest(), &a.Readers)...)
		return err
	})
	return p.classify(ctx, "force release", key, err)
}

// pruneBatch is the largest number of rows that one statement of Prune deletes. It limits how long the statement
// blocks inserts of new names.
const pruneBatch = 10_000

// Prune deletes the rows of locks that have been free for at least the duration unused, one batch per statement. It
// returns the number of deleted rows, also with an error.
func (p *Backend) Prune(ctx context.Context, unused time.Duration) (int, error) {
	total := 0
	for {
		forgotten := 0
		if _, err := p.one(ctx, "prune", []any{unused.Microseconds(), int64(pruneBatch)}, &forgotten); err != nil {
			return total, p.classify(ctx, "prune", driver.Key{}, err)
		}
		total += forgotten
		if forgotten < pruneBatch {
			return total, nil
		}
	}
}

// Pause replaces the grant g with a pause in one round trip.
func (p *Backend) Pause(ctx context.Context, g driver.Grant, as driver.Nonce) error {
	var done string
	found, err := p.one(ctx, "pause", []any{
		g.Key.Namespace, g.Key.Name, g.Nonce.String(), int64(g.Token), as.String(), driver.Endless.Microseconds(),
	}, &done)
	if err == nil && !found {
		return driver.ErrNotHeld
	}
	return p.classify(ctx, "pause", g.Key, err)
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"

	"github.com/rowlock/rowlock/bench/report"
)

// tables of many rows: what a cycle costs beside one in a table that has no other row. Each size has a database of its own, so that
// all are measured in turn.
func (b *bench) sizes(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []contender
	l, _ := s.lock(s.sql.rows)
	for _, n := range b.plan.rows {
		dsn, err := s.sql.fresh(ctx, b.world, at[0], fmt.Sprintf("bench_%d", n))
		if err != nil {
			return nil, err
		}
		if err := s.prepare(ctx, []string{dsn}); err != nil {
			return nil, err
		}
		if err := s.sql.fill(ctx, dsn, n); err != nil {
			return nil, fmt.Errorf("%d rows: %w", n, err)
		}
		b.log("%s: a table of %d rows is made", s.title, n)
		locker, leave, err := l.locker(ctx, []string{dsn})
		if err != nil {
			return nil, err
		}
		cycle := func(pick func() int) func(context.Context) error {
			return func(ctx context.Context) error {
				lease, err := locker.Acquire(ctx, fmt.Sprintf("lock %d", pick()))
				if err != nil {
					return err
				}
				return lease.Release(ctx)
			}
		}
		floor := fmt.Sprintf("one name, %d rows", b.plan.rows[0])
		kind := report.Rowlock
		if len(all) == 0 {
			kind = report.Floor
		}
		all = append(all, contender{name: fmt.Sprintf("one name, %d rows", n), kind: kind, floor: floor, close: leave, cycle: cycle(func() int { return n / 2 })})
		if n > 1 {
			all = append(all, contender{name: fmt.Sprintf("any name, %d rows", n), kind: kind, floor: floor, cycle: cycle(func() int { return rand.IntN(n) })})
		}
	}
	return b.contest(ctx, b.plan.sizes, all, nil)
}

// fill makes so many rows as locks leave them that were released long ago.
func (d *dialect) fill(ctx context.Context, dsn string, rows int) error {
	db, err := sql.Open(d.driver, dsn)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	past := "'2020-01-01 00:00:00'"
	if d.driver == "sqlite" {
		past = "0"
	}
	const columns = "(namespace, name, token, nonce, holder, note, acquired_at, expires_at, held_until)"
	if _, err := db.ExecContext(ctx, fmt.Sprintf("INSERT INTO rowlock_lease %s VALUES ('', 'lock 0', 0, NULL, 'host/4711 program', '', %s, %s, %s)", columns, past, past, past)); err != nil {
		return err
	}
	for have := 1; have < rows; have *= 2 {
		_, err := db.ExecContext(ctx, fmt.Sprintf(`INSERT INTO rowlock_lease %s
			SELECT namespace, %s, token + %d, NULL, holder, note, acquired_at, expires_at, held_until
			  FROM rowlock_lease WHERE token < %d`, columns, fmt.Sprintf(d.name, have), have, min(have, rows-have)))
		if err != nil {
			return err
		}
	}
	for _, statement := range d.tidy {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"

	"github.com/rowlock/rowlock/bench/report"
)

// sizes compares a cycle in a table of many rows with a cycle in a table of a single row.
// Each size has its own database, so that the sizes can be measured alternately.
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
		touch, put, err := s.sql.twoTouches(ctx, dsn)
		if err != nil {
			return nil, err
		}
		floor := fmt.Sprintf("one name, %d rows", b.plan.rows[0])
		bareFloor := "two bare updates, " + floor
		first, any := func() int { return n / 2 }, func() int { return rand.IntN(n) }
		if n == b.plan.rows[0] {
			all = append(all, contender{name: bareFloor, kind: report.Floor, floor: bareFloor, close: put, cycle: touch(first)},
				contender{name: floor, kind: report.Floor, floor: floor, close: leave, cycle: cycle(first)})
			continue
		}
		all = append(all, contender{name: fmt.Sprintf("one name, %d rows", n), kind: report.Rowlock, floor: floor, close: leave, cycle: cycle(first)},
			contender{name: fmt.Sprintf("any name, %d rows", n), kind: report.Rowlock, floor: floor, cycle: cycle(any)},
			contender{name: fmt.Sprintf("two bare updates, any name, %d rows", n), kind: report.Floor, floor: bareFloor, close: put, cycle: touch(any)})
	}
	return b.contest(ctx, b.plan.sizes, all, nil)
}

// twoTouches opens a connection for the minimum work of a cycle: two prepared updates of one row. The function pick
// chooses the row.
func (d *dialect) twoTouches(ctx context.Context, dsn string) (touch func(pick func() int) func(context.Context) error, leave func(), err error) {
	db, err := sql.Open(d.driver, dsn)
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	leave = func() { _ = db.Close() }
	stmt, err := db.PrepareContext(ctx, d.touch)
	if err != nil {
		leave()
		return nil, nil, err
	}
	return func(pick func() int) func(context.Context) error {
		return func(ctx context.Context) error {
			name := fmt.Sprintf("lock %d", pick())
			if _, err := stmt.ExecContext(ctx, name); err != nil {
				return err
			}
			_, err := stmt.ExecContext(ctx, name)
			return err
		}
	}, leave, nil
}

// fill inserts rows of locks that were released long ago.
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

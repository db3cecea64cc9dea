package main

import (
	"context"
	"database/sql"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/migrations"
)

const (
	update          = "UPDATE bench_rows SET n = n + 1 WHERE id = 1"
	updateProtected = "UPDATE bench_protected SET n = n + 1 WHERE id = 1"
)

// fenced is one database with a lease that has sealed, and the transaction without a fence: begin, one
// update, commit.
type fenced struct {
	name  string
	db    *sql.DB
	lease *rowlock.Lease
	guard func(...fence.Option) *fence.Guard
}

// openFenced makes the tables, and holds a lease for as long as the benchmark runs.
func openFenced(ctx context.Context, name string, db *sql.DB, dialect migrations.Dialect, backend driver.Backend, guard func(...fence.Option) *fence.Guard) (*fenced, error) {
	if err := migrations.Up(ctx, db, dialect); err != nil {
		return nil, err
	}
	for _, table := range []string{"bench_rows", "bench_protected"} {
		for _, statement := range []string{
			"DROP TABLE IF EXISTS " + table,
			"CREATE TABLE " + table + " (id bigint PRIMARY KEY, n bigint NOT NULL, token bigint NOT NULL)",
			"INSERT INTO " + table + " VALUES (1, 0, 0)",
		} {
			if _, err := db.ExecContext(ctx, statement); err != nil {
				return nil, err
			}
		}
	}
	locker, err := rowlock.New(backend, rowlock.TTL(time.Hour))
	if err != nil {
		return nil, err
	}
	lease, err := locker.TryAcquire(ctx, "bench "+name, rowlock.Fenced(guard()))
	if err != nil {
		return nil, err
	}
	return &fenced{name, db, lease, guard}, guard().Protect(ctx, "bench_protected", lease.Name())
}

// rows are the strengths, each beside the transaction without a fence.
func (f *fenced) rows() []comparison {
	guard, lazy, protected := f.guard(), f.guard(fence.Lazy()), f.guard(fence.Protected())
	ctx := f.lease.Context()
	row := fence.Row{Table: "bench_rows", Key: "id", Token: "token"}
	work := func(_ context.Context, tx *sql.Tx) error { return exec(ctx, tx, update) }
	var all []comparison
	for _, s := range []struct {
		strength string
		ours     func(context.Context) error
	}{
		{"Check", f.begin(func(tx *sql.Tx) error { return guard.Check(ctx, tx) }, update)},
		{"Check, lazy", f.begin(func(tx *sql.Tx) error { return lazy.Check(ctx, tx) }, update)},
		{"Hold", f.begin(func(tx *sql.Tx) error { return guard.Hold(ctx, tx) }, update)},
		{"CheckRow", f.begin(func(tx *sql.Tx) error { return guard.CheckRow(ctx, tx, row, 1) }, update)},
		{"Check, protected table", f.begin(func(tx *sql.Tx) error { return protected.Check(ctx, tx) }, updateProtected)},
		{"Tx", func(context.Context) error { return guard.Tx(ctx, work) }},
	} {
		all = append(all, comparison{name: f.name + ": " + s.strength, bare: f.begin(nil, update), ours: s.ours})
	}
	return all
}

// begin is a transaction of the caller's own: begin, check, one update, commit.
func (f *fenced) begin(check func(*sql.Tx) error, statement string) func(context.Context) error {
	return func(ctx context.Context) error {
		tx, err := f.db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
		if check != nil {
			if err := check(tx); err != nil {
				return err
			}
		}
		if err := exec(ctx, tx, statement); err != nil {
			return err
		}
		return tx.Commit()
	}
}

func exec(ctx context.Context, tx *sql.Tx, statement string) error {
	_, err := tx.ExecContext(ctx, statement)
	return err
}

// openFencedSQL opens a database by database/sql, with lock and data in it.
func openFencedSQL(ctx context.Context, d database) ([]comparison, error) {
	db, err := sql.Open(d.driver, d.dsn)
	if err != nil {
		return nil, err
	}
	f, err := openFenced(ctx, d.name, db, d.dialect, d.backend(db), func(opts ...fence.Option) *fence.Guard { return d.guard(db, opts...) })
	if err != nil {
		return nil, err
	}
	return f.rows(), nil
}

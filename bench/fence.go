package main

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
)

const (
	update          = "UPDATE bench_rows SET n = n + 1 WHERE id = 1"
	updateProtected = "UPDATE bench_protected SET n = n + 1 WHERE id = 1"
)

// fenced is one database and one lease. The lease is already sealed, so the database rejects older leases. The baseline
// is a transaction without a fence: begin, one update, commit.
type fenced struct {
	name  string
	db    *sql.DB
	lease *rowlock.Lease
	guard func(...fence.Option) *fence.Guard
}

// fences measures transactions that make one update, with a fence and without a fence.
func (b *bench) fences(ctx context.Context, s store) ([]report.Row, error) {
	at, err := b.world.ready(ctx, s)
	if err != nil {
		return nil, err
	}
	var all []contender
	if s.id == "postgres" {
		if all, err = fencedPgx(ctx, at[0]); err != nil {
			return nil, err
		}
	}
	db, err := sql.Open(s.sql.driver, at[0])
	if err != nil {
		return nil, err
	}
	f, err := openFenced(ctx, "database/sql", db, s.sql.backend(db), func(opts ...fence.Option) *fence.Guard { return s.sql.guard(db, opts...) })
	if err != nil {
		return nil, err
	}
	all = append(all, f.strengths()...)
	all[len(all)-1].close = func() { _ = db.Close() }
	return b.contest(ctx, b.plan.fences, all, nil)
}

// openFenced creates the tables, and holds a lease for as long as the benchmark runs.
func openFenced(ctx context.Context, name string, db *sql.DB, backend driver.Backend, guard func(...fence.Option) *fence.Guard) (*fenced, error) {
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
	lease, err := locker.TryAcquire(ctx, fmt.Sprintf("fenced %s %d", name, time.Now().UnixNano()), rowlock.Fenced(guard()))
	if err != nil {
		return nil, err
	}
	return &fenced{name, db, lease, guard}, guard().Protect(ctx, "bench_protected", lease.Name())
}

// strengths returns one contender for each kind of fence, and one without a fence.
func (f *fenced) strengths() []contender {
	guard, lazy, protected := f.guard(), f.guard(fence.Lazy()), f.guard(fence.Protected())
	ctx := f.lease.Context()
	row := fence.Row{Table: "bench_rows", Key: "id", Token: "token"}
	work := func(_ context.Context, tx *sql.Tx) error { return execute(ctx, tx, update) }
	bare := f.name + ": no fence"
	all := []contender{{name: bare, kind: report.Floor, floor: bare, cycle: f.begin(nil, update)}}
	for _, s := range []struct {
		strength string
		ours     func(context.Context) error
	}{
		{"Check", f.begin(func(tx *sql.Tx) error { return guard.Check(ctx, tx) }, update)},
		{"Check, lazy", f.begin(func(tx *sql.Tx) error { return lazy.Check(ctx, tx) }, update)},
		{"CheckHeld", f.begin(func(tx *sql.Tx) error { return guard.CheckHeld(ctx, tx) }, update)},
		{"CheckRow", f.begin(func(tx *sql.Tx) error { return guard.CheckRow(ctx, tx, row, 1) }, update)},
		{"Check, protected table", f.begin(func(tx *sql.Tx) error { return protected.Check(ctx, tx) }, updateProtected)},
		{"Tx", func(context.Context) error { return guard.Tx(ctx, work) }},
	} {
		all = append(all, contender{name: f.name + ": " + s.strength, kind: report.Rowlock, floor: bare, cycle: s.ours})
	}
	return all
}

// begin returns a transaction that uses only database/sql and a check: begin, check, one update, commit.
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
		if err := execute(ctx, tx, statement); err != nil {
			return err
		}
		return tx.Commit()
	}
}

func execute(ctx context.Context, tx *sql.Tx, statement string) error {
	_, err := tx.ExecContext(ctx, statement)
	return err
}

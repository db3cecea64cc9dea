package main

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rowlock/rowlock/bench/report"
	"github.com/rowlock/rowlock/internal/testserver"
)

const (
	bloatNames   = 100
	bloatClients = 10 // each client uses a tenth of the names
)

// bloat has the statements that measure the size of a lease table.
type bloat struct {
	engine string // the kind of server to start; if empty, the store is a SQLite file
	size   string // the statement for the size of the table and its indexes, in bytes
	hot    string // the statement for the share of updates that touched no index, if the server reports that share
}

// bloats measures the size of the lease table and of its indexes. Before that, clients acquire and release a hundred
// names many times. The server does not flush to disk, because the measurement is then faster and the size is the same.
func (b *bench) bloats(ctx context.Context, s store) ([]report.Row, error) {
	d := s.sql
	at, err := s.serve(ctx, b.world)
	if err != nil {
		return nil, err
	}
	if d.bloat.engine != "" && !b.plan.quick {
		if at, err = b.world.started(ctx, "bloat "+s.id, d.bloat.engine, 1, testserver.Options{}); err != nil {
			return nil, err
		}
	}
	dsn, err := d.fresh(ctx, b.world, at[0], "bench_bloat")
	if err != nil {
		return nil, err
	}
	if err := s.prepare(ctx, []string{dsn}); err != nil {
		return nil, err
	}
	db, err := sql.Open(d.driver, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { _ = db.Close() }()
	var rows []report.Row
	done := 0
	for _, n := range b.plan.cyclesOf(s) {
		if err := b.churn(ctx, s, dsn, n-done); err != nil {
			return nil, err
		}
		done = n
		if d.bloat.hot != "" {
			sleep(ctx, 1200*time.Millisecond) // Postgres updates its statistics about once a second
		}
		row := report.Row{Lock: fmt.Sprintf("after %d cycles", n), Kind: report.Rowlock, Figures: map[string]float64{"cycles": float64(n)}}
		var table, index, hot float64
		if err := db.QueryRowContext(ctx, d.bloat.size).Scan(&table, &index); err != nil {
			return nil, err
		}
		row.Figures["table_bytes"] = table
		if index > 0 {
			row.Figures["index_bytes"] = index
		}
		if d.bloat.hot != "" {
			if err := db.QueryRowContext(ctx, d.bloat.hot).Scan(&hot); err != nil {
				return nil, err
			}
			row.Figures["hot_share"] = hot
		}
		b.log("%s: %s: %v", s.title, row.Lock, row.Figures)
		rows = append(rows, row)
	}
	return rows, nil
}

// churn acquires and releases names, as often as the parameter cycles says. Its clients use different names, so no
// client waits for another.
func (b *bench) churn(ctx context.Context, s store, dsn string, cycles int) error {
	l, _ := s.lock(s.sql.rows)
	locker, leave, err := l.locker(ctx, []string{dsn})
	if err != nil {
		return err
	}
	defer leave()
	var done atomic.Int64
	var group sync.WaitGroup
	errs := make([]error, bloatClients)
	for client := range bloatClients {
		group.Go(func() {
			for i := client; done.Add(1) <= int64(cycles); i += bloatClients {
				lease, err := locker.Acquire(ctx, fmt.Sprintf("lock %d", i%bloatNames))
				if err == nil {
					err = lease.Release(ctx)
				}
				if err != nil {
					errs[client] = err
					return
				}
			}
		})
	}
	group.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

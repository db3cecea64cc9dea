package demo

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/cli/exit"
)

// Limits of the options of "rowlock demo stock". Larger numbers would show nothing new.
const (
	MostWorkers  = 64
	MostPieces   = 10_000
	StockTimeout = 5 * time.Minute
	stockTTL     = 30 * time.Second
	stockPause   = 10 * time.Millisecond // the delay between two sales of a worker; without the delay, the same worker could acquire the lock again before the others
)

// pieces is the name of the row that contains the number of pieces left.
const pieces = "stock"

// SellOut runs workers that sell pieces until nothing is left, and then prints and checks the sales.
func (d *Demo) SellOut(ctx context.Context, workers int, stock int64) error {
	if err := d.insert(ctx, pieces, stock); err != nil {
		return fmt.Errorf("insert the stock: %w", err)
	}
	for w := range workers {
		if err := d.insert(ctx, seller(w), 0); err != nil {
			return fmt.Errorf("insert a worker: %w", err)
		}
	}
	fmt.Fprintf(d.Out, "%d to sell, %d selling. Each sale is one lock and one fenced transaction.\n\n", stock, workers)
	start := time.Now()
	group, selling := errgroup.WithContext(ctx)
	for w := range workers {
		group.Go(func() error { return d.sell(selling, seller(w)) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return d.count(ctx, workers, stock, time.Since(start))
}

// sell makes sales for one worker until nothing is left.
func (d *Demo) sell(ctx context.Context, who string) error {
	locker, err := d.locker(d.store.Backend, rowlock.TTL(stockTTL), rowlock.Fenced(d.guard), rowlock.Holder(who+" of rowlock demo stock"))
	if err != nil {
		return err
	}
	defer func() { _ = locker.Close() }() // no lease is left: Do has released each lease, and has returned any error of the release
	for more := true; more; {
		err := locker.Do(ctx, Lock, func(ctx context.Context, _ *rowlock.Lease) error {
			return d.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) (err error) {
				more, err = d.sale(ctx, tx, who)
				return err
			})
		})
		if err == nil && more {
			err = wait(ctx, stockPause)
		}
		if err != nil {
			return fmt.Errorf("sell: %w", err)
		}
	}
	return nil
}

// sale sells one piece if a piece is left. It returns false if no piece was left.
func (d *Demo) sale(ctx context.Context, tx *sql.Tx, who string) (more bool, err error) {
	left, err := d.read(ctx, tx, pieces)
	if err != nil || left == 0 {
		return false, err
	}
	sold, err := d.read(ctx, tx, who)
	if err != nil {
		return false, err
	}
	if err := d.write(ctx, tx, pieces, left-1); err != nil {
		return false, err
	}
	return true, d.write(ctx, tx, who, sold+1)
}

// count adds up the sales that the database has recorded, prints them, and returns an error if they do not match the
// stock.
func (d *Demo) count(ctx context.Context, workers int, stock int64, took time.Duration) error {
	var total int64
	for w := range workers {
		sold, err := d.read(ctx, d.store.DB, seller(w))
		if err != nil {
			return fmt.Errorf("count the sales: %w", err)
		}
		total += sold
		fmt.Fprintf(d.Out, "%-10s %6d sold\n", seller(w), sold)
	}
	left, err := d.read(ctx, d.store.DB, pieces)
	if err != nil {
		return fmt.Errorf("count the stock: %w", err)
	}
	if total != stock || left != 0 {
		return exit.Failf(exit.Internal, "%d of %d were sold, and %d are left", total, stock, left)
	}
	if _, err := fmt.Fprintf(d.Out, "%-10s %6d sold of %d in %.1f s, %d left: nothing was oversold.\n", "total", total, stock, took.Seconds(), left); err != nil {
		return exit.Failf(exit.Internal, "write to stdout: %w", err)
	}
	return nil
}

func seller(w int) string { return "worker " + strconv.Itoa(w+1) }

//go:build unix

package processes_test

import (
	"context"
	"database/sql"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock"
)

// limit bounds what a worker does in one transaction.
const limit = 10 * time.Second

// holding is one lease of a worker, and what it knows of the chain.
type holding struct {
	worker
	lease *rowlock.Lease
	last  int64
}

// attempt runs one transaction, and tells if it failed. Its context has the lease and does not end
// with it, so nothing but the fence keeps a stale holder from writing.
func (h *holding) attempt(transaction func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.lease.Context()), limit)
	defer cancel()
	err := transaction(ctx)
	if err != nil {
		h.tell(event{What: outcome(err), Token: h.lease.Token(), Detail: err.Error()})
	}
	return err == nil
}

// read reads the end of the chain; that of an empty one is 0.
func (h *holding) read(ctx context.Context) error {
	return h.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, h.d.bind("SELECT new_val FROM ledger WHERE id = ? ORDER BY seq DESC LIMIT 1"), h.name()).Scan(&h.last)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
}

// write writes one link, or three in one transaction. Values are random: no two writers agree by
// chance.
func (h *holding) write(ctx context.Context) error {
	links := 1 + 2*rand.IntN(2)
	var next int64
	err := h.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
		next = h.last
		for i := range links {
			h.tell(event{What: inside, Token: h.lease.Token(), Last: h.last})
			if i > 0 {
				time.Sleep(rand.N(10 * time.Millisecond)) // the work between two statements
			}
			before := next
			next = rand.Int64()
			if _, err := tx.ExecContext(ctx, h.d.bind("INSERT INTO ledger (id, token, nonce, worker, read_val, new_val) VALUES (?, ?, ?, ?, ?, ?)"),
				h.name(), int64(h.lease.Token()), h.lease.Nonce().String(), h.Worker, before, next); err != nil {
				return err
			}
		}
		if rand.IntN(4) == 0 {
			time.Sleep(rand.N(20 * time.Millisecond)) // the work before the commit
		}
		return nil
	})
	if err == nil {
		h.last = next
	}
	return err
}

// within runs a transaction with the fence, in both ways that the guard offers; or without.
func (h *holding) within(ctx context.Context, fn func(context.Context, *sql.Tx) error) error {
	if h.fenced && rand.IntN(2) == 0 {
		return h.guard.Tx(ctx, fn)
	}
	level := h.d.levels[rand.IntN(len(h.d.levels))]
	tx, err := h.db.BeginTx(ctx, &sql.TxOptions{Isolation: level})
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if h.fenced {
		if err := h.guard.Check(ctx, tx); err != nil {
			return err
		}
	}
	if err := fn(ctx, tx); err != nil {
		return err
	}
	return tx.Commit()
}

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

// limit is the timeout of one transaction of a worker.
const limit = 10 * time.Second

// holding is one lease of a worker, and the last value of the chain as the worker knows it.
type holding struct {
	worker
	lease *rowlock.Lease
	last  int64
}

// attempt runs one transaction, and reports an error as an event. The transaction's context contains the lease, but
// does not end when the lease ends. So nothing but the fence can reject the writes of a stale holder.
func (h *holding) attempt(transaction func(context.Context) error) bool {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(h.lease.Context()), limit)
	defer cancel()
	err := transaction(ctx)
	if err != nil {
		h.tell(event{What: outcome(err), Token: h.lease.Token(), Detail: err.Error()})
	}
	return err == nil
}

// read reads the last value of the chain. The last value of an empty chain is 0.
func (h *holding) read(ctx context.Context) error {
	return h.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
		err := tx.QueryRowContext(ctx, h.d.bind("SELECT new_val FROM ledger WHERE id = ? ORDER BY seq DESC LIMIT 1"), h.name()).Scan(&h.last)
		if errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
}

// write writes one or three links in one transaction. The values are random, so that two writers never write the
// same value.
func (h *holding) write(ctx context.Context) error {
	links := 1 + 2*rand.IntN(2)
	var next int64
	err := h.within(ctx, func(ctx context.Context, tx *sql.Tx) error {
		next = h.last
		for i := range links {
			h.tell(event{What: inside, Token: h.lease.Token(), Last: h.last})
			if i > 0 {
				time.Sleep(rand.N(10 * time.Millisecond)) // simulates the work between two statements
			}
			before := next
			next = rand.Int64()
			if _, err := tx.ExecContext(ctx, h.d.bind("INSERT INTO ledger (id, token, nonce, worker, read_val, new_val) VALUES (?, ?, ?, ?, ?, ?)"),
				h.name(), int64(h.lease.Token()), h.lease.Nonce().String(), h.Worker, before, next); err != nil {
				return err
			}
		}
		if rand.IntN(4) == 0 {
			time.Sleep(rand.N(20 * time.Millisecond)) // simulates the work before the commit
		}
		return nil
	})
	if err == nil {
		h.last = next
	}
	return err
}

// within runs fn in a transaction. With the fence, it uses [fence.Guard.Tx] or [fence.Guard.Check], chosen at random.
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

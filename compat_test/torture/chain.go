//go:build linux

package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/fence"
)

// longestTx limits the duration of a worker's transaction. longestWait limits how long a worker waits for a lock.
const (
	longestTx   = 5 * time.Second
	longestWait = 5 * time.Second
)

// stubborn is how many times a holder retries a write that was rejected.
const stubborn = 6

// chain does the work of a holder. A chain is the list of all writes to one resource. Each write in it records which
// write the writer had read before. The holder first reads the last write of each of its chains. Then it runs a few
// transactions that append to all of them, mostly without checking the lease. After a rejected write it retries.
func (w *worker) chain(ctx context.Context, r *rand.Rand, name string, usual tempo, sealer rowlock.Sealer, fenced bool, resources ...string) {
	h, ok := w.acquire(ctx, w.locker.Acquire, name, append(fencedBy(sealer), rowlock.Wait(longestWait))...)
	if !ok {
		return
	}
	defer h.release()
	c := &chained{hold: h, random: r, usual: usual, fenced: fenced, resources: resources, ends: make([]int64, len(resources))}
	if !c.read() {
		return
	}
	if w.mutant.blind {
		// The defect "blind" does not fence reads. This delay gives other holders time to write between the first read
		// and the first write.
		time.Sleep(w.TTL / 10)
	}
	refused := 0
	for range 1 + r.IntN(4) {
		c.work()
		if r.IntN(2) == 0 {
			h.look()
		}
		for outcome := c.write(); outcome != history.OK; outcome = c.write() {
			if refused++; refused > stubborn || outcome == history.Unknown {
				return // the outcome is unknown, so the worker must read again before the next write
			}
			time.Sleep(w.TTL / 50)
		}
		if refused > 0 {
			return
		}
	}
	h.look()
}

// fencedBy returns the option rowlock.Fenced with this sealer. If sealer is nil, it returns no option.
func fencedBy(sealer rowlock.Sealer) []rowlock.Option {
	if sealer == nil {
		return nil
	}
	return []rowlock.Option{rowlock.Fenced(sealer)}
}

// chained is a lease of a worker, and the last values of the chains that the worker has read under the lease.
type chained struct {
	*hold
	random    *rand.Rand
	usual     tempo
	fenced    bool
	resources []string
	ends      []int64
}

// work waits as long as an application would work between reading and writing.
func (c *chained) work() {
	longest := c.usual.hold / 2
	if c.random.IntN(4*c.usual.seldom) == 0 {
		longest = c.TTL / 5
	}
	time.Sleep(time.Duration(c.random.Int64N(int64(longest))))
}

// attempt runs one transaction. The transaction's context carries the lease, but does not end with the lease. So only the fence
// can stop a stale holder from writing.
func (c *chained) attempt(fenced bool, fn func(context.Context, *sql.Tx) error) (outcome string, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(c.lease.Context()), longestTx)
	defer cancel()
	definite := fenced && c.random.IntN(2) == 0
	if definite {
		err = c.guard.Tx(ctx, fn, c.resources...)
	} else {
		err = c.within(ctx, fenced, fn)
	}
	switch {
	case err == nil:
		return history.OK, nil
	case errors.Is(err, fence.ErrStale):
		return history.Stale, err
	case errors.Is(err, rowlock.ErrNotHeld):
		return history.LeaseLost, err
	case errors.Is(err, fence.ErrUnknown):
		return history.Unknown, err
	case definite, errors.Is(err, errNotCommitted):
		return history.Undone, err
	}
	return history.Unknown, err // the commit may have failed or succeeded
}

var errNotCommitted = errors.New("before the commit")

// within runs a transaction with database/sql, at a random isolation level. It does not use the library's own function
// for transactions, Guard.Tx.
func (c *chained) within(ctx context.Context, fenced bool, fn func(context.Context, *sql.Tx) error) error {
	conn, err := c.data.Conn(ctx)
	if err != nil {
		return errors.Join(errNotCommitted, err)
	}
	defer conn.Close() //nolint:errcheck // Close returns the connection to the pool
	tx, err := conn.BeginTx(ctx, &sql.TxOptions{Isolation: c.data.levels[c.random.IntN(len(c.data.levels))]})
	if err != nil {
		// SQLite may have begun the transaction despite the error. With driver.ErrBadConn, database/sql closes the
		// connection and does not return it to the pool.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return errors.Join(errNotCommitted, err)
	}
	defer func() { _ = tx.Rollback() }()
	if fenced {
		if err := c.guard.Check(ctx, tx, c.resources...); err != nil {
			return errors.Join(errNotCommitted, err)
		}
	}
	if err := fn(ctx, tx); err != nil {
		return errors.Join(errNotCommitted, err)
	}
	if c.mutant.rash && c.random.IntN(10) == 0 {
		return nil
	}
	return tx.Commit()
}

// read reads the last values of the chains. The last value of an empty chain is 0.
// If the database rolls the transaction back, the method retries it.
func (c *chained) read() bool {
	for range stubborn {
		outcome, err := c.attempt(c.fenced && !c.mutant.unchecked && !c.mutant.blind, func(ctx context.Context, tx *sql.Tx) error {
			for i, resource := range c.resources {
				err := tx.QueryRowContext(ctx, c.data.bind("SELECT new_val FROM torture_ledger WHERE resource = ? ORDER BY seq DESC LIMIT 1"), resource).Scan(&c.ends[i])
				if errors.Is(err, sql.ErrNoRows) {
					c.ends[i] = 0
				} else if err != nil {
					return err
				}
			}
			return nil
		})
		e := c.event(history.Read)
		e.Resource, e.Outcome, e.Value = c.resources[0], outcome, c.ends[0]
		if err != nil {
			e.Detail = err.Error()
		}
		c.log.Write(e)
		if outcome != history.Undone && outcome != history.Unknown {
			return outcome == history.OK
		}
		time.Sleep(c.TTL / 50)
	}
	return false
}

// write appends one link to each chain. The values are random, so two writers never write the same value.
func (c *chained) write() (outcome string) {
	next := c.random.Int64()
	e := c.event(history.Write)
	e.Resource, e.Read, e.Value = c.resources[0], c.ends[0], next
	c.log.Write(e)
	var err error
	outcome, err = c.attempt(c.fenced && !c.mutant.unchecked, func(ctx context.Context, tx *sql.Tx) error {
		for i, resource := range c.resources {
			if _, err := tx.ExecContext(ctx, c.data.bind("INSERT INTO torture_ledger (resource, token, nonce, worker, read_val, new_val) VALUES (?, ?, ?, ?, ?, ?)"),
				resource, int64(c.lease.Token()), c.lease.Nonce().String(), c.Worker, c.ends[i], next); err != nil {
				return err
			}
		}
		if c.random.IntN(8) == 0 {
			time.Sleep(time.Duration(c.random.Int64N(int64(c.usual.hold)))) // stands for the application's work before the commit
		}
		return nil
	})
	e.At, e.Wall, e.Kind, e.Outcome = 0, 0, history.Wrote, outcome
	if err != nil {
		e.Detail = err.Error()
	}
	c.log.Write(e)
	if outcome == history.OK {
		for i := range c.ends {
			c.ends[i] = next
		}
	}
	return outcome
}

//go:build unix

package processes_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/rowlock/rowlock"
)

// count acquires the lock, holds it for a while and adds to the counter a few times.
// Sometimes it continues after the lease was lost.
func (w worker) count(ctx context.Context, locker *rowlock.Locker) {
	w.tell(event{What: asked})
	lease, err := locker.Acquire(ctx, fmt.Sprint("counter-", w.name()))
	if err != nil {
		if ctx.Err() == nil {
			what := failed
			if errors.Is(err, rowlock.ErrUnavailable) {
				what = unavailable
			}
			w.tell(event{What: what, Detail: err.Error()})
		}
		return
	}
	w.tell(event{What: granted, Token: lease.Token()})
	for range rand.IntN(20) {
		if at := now(); lease.Err() == nil {
			w.tell(event{What: trusted, Token: lease.Token(), At: at})
		} else if rand.IntN(2) == 0 {
			break // half of the workers continue after a loss, and the token must reject their writes
		}
		w.add(lease.Token())
		time.Sleep(rand.N(10 * time.Millisecond)) // simulates the work between two writes
	}
	_ = lease.Release(ctx)
	w.tell(event{What: released, Token: lease.Token()})
}

// add adds one to the counter, unless the row of the counter has a newer token.
func (w worker) add(token rowlock.Token) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback() }()
	var newest rowlock.Token
	var n int64
	if tx.QueryRowContext(ctx, w.d.bind("SELECT token, n FROM counter WHERE id = ?"+w.d.lock), w.name()).Scan(&newest, &n) != nil {
		return
	}
	if newest > token {
		w.tell(event{What: stale, Token: token, Detail: fmt.Sprintf("token %d is newer than %d", newest, token)})
		return
	}
	if _, err := tx.ExecContext(ctx, w.d.bind("UPDATE counter SET token = ?, n = ? WHERE id = ?"), int64(token), n+1, w.name()); err != nil {
		return
	}
	if _, err := tx.ExecContext(ctx, w.d.bind("INSERT INTO ledger (id, n, token, worker) VALUES (?, ?, ?, ?)"), w.name(), n+1, int64(token), w.Worker); err != nil {
		return
	}
	if tx.Commit() == nil {
		w.tell(event{What: counted, Token: token})
	}
}

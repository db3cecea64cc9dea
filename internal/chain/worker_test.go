//go:build unix

package chain_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
)

// work holds the lock again and again until it is told to stop, or killed. Without a reader of its
// output it ends.
func (j job) work() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	d := databases[j.Store]
	db, err := sql.Open(d.driver, j.DSN)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	backend, closeBackend := d.backend(db, j.DSN)
	defer closeBackend()
	// Renewed late, an evicted holder goes on for a while before it hears of it.
	options := []rowlock.Option{rowlock.TTL(ttl), rowlock.RenewEvery(ttl / 2)}
	w := worker{job: j, d: d, db: db, guard: d.guard(db)}
	if j.Fenced {
		options = append(options, rowlock.Fenced(w.guard))
	}
	locker, err := rowlock.New(backend, options...)
	if err != nil {
		panic(err)
	}
	defer func() { _ = locker.Close() }()
	w.tell(event{What: started})
	for ctx.Err() == nil {
		w.hold(ctx, locker)
	}
}

type worker struct {
	job
	d     database
	db    *sql.DB
	guard *fence.Guard
}

// nameOf is the lock of a chain.
func nameOf(id int) string { return fmt.Sprint("chain-", id) }

func (w worker) tell(e event) {
	line, err := json.Marshal(e)
	if err == nil {
		_, err = os.Stdout.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// hold acquires the lock, reads the end of the chain once and writes a few times, without ever
// asking the lease whether it is still held.
func (w worker) hold(ctx context.Context, locker *rowlock.Locker) {
	lease, err := locker.Acquire(ctx, nameOf(w.Worker%names))
	if err != nil {
		if ctx.Err() == nil {
			w.tell(event{What: refusal(err), Detail: err.Error()})
		}
		return
	}
	defer func() {
		_ = lease.Release(ctx)
		w.tell(event{What: idle, Token: lease.Token()})
	}()
	w.tell(event{What: granted, Token: lease.Token()})
	h := &holding{worker: w, lease: lease}
	if !h.attempt(h.read) {
		return
	}
	for range 1 + rand.IntN(4) {
		w.tell(event{What: ready, Token: lease.Token(), Last: h.last})
		pause()
		if !h.attempt(h.write) {
			return
		}
		w.tell(event{What: wrote, Token: lease.Token(), Last: h.last})
	}
}

// pause is the work between reading and writing.
func pause() {
	longest := 10 * time.Millisecond
	if rand.IntN(4) == 0 {
		longest = 100 * time.Millisecond
	}
	time.Sleep(rand.N(longest))
}

// refusal is why the lock was not to be had.
func refusal(err error) string {
	switch {
	case errors.Is(err, rowlock.ErrUnavailable):
		return unavailable
	case errors.Is(err, fence.ErrStale), errors.Is(err, fence.ErrRetry), errors.Is(err, rowlock.ErrLost):
		return unsealed
	default:
		return failed
	}
}

// outcome is what became of a transaction that failed.
func outcome(err error) string {
	switch {
	case errors.Is(err, fence.ErrStale):
		return stale
	case errors.Is(err, rowlock.ErrLost):
		return lost
	case errors.Is(err, fence.ErrRetry):
		return undone
	default:
		return broken
	}
}

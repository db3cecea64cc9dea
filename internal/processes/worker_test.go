package processes_test

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
)

// event is one line of a worker's log. It is written with one write, which survives the writer.
type event struct {
	What   string // asked, granted, trusted, counted, stale, released, failed
	Name   int
	Token  rowlock.Token
	Worker int
	At     int64 // by the clock of the machine, in nanoseconds
	Detail string
}

// work counts under the lock until it is told to stop, or killed.
func (j job) work() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	log, err := os.OpenFile(j.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	d := databases[j.Store]
	db, err := sql.Open(d.driver, j.DSN)
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()
	backend, closeBackend := d.backend(db, j.DSN)
	defer closeBackend()
	locker, err := rowlock.New(backend, rowlock.TTL(ttl))
	if err != nil {
		panic(err)
	}
	defer func() { _ = locker.Close() }()
	w := worker{job: j, d: d, db: db, log: log}
	for ctx.Err() == nil {
		w.round(ctx, locker, j.Worker%names)
	}
}

type worker struct {
	job
	d   database
	db  *sql.DB
	log *os.File
}

func (w worker) write(what string, name int, token rowlock.Token, at int64, detail string) {
	line, err := json.Marshal(event{What: what, Name: name, Token: token, Worker: w.Worker, At: at, Detail: detail})
	if err == nil {
		_, err = w.log.Write(append(line, '\n'))
	}
	if err != nil {
		panic(err)
	}
}

// round holds one lock for a while and counts a few times, sometimes without looking at the lease.
func (w worker) round(ctx context.Context, locker *rowlock.Locker, name int) {
	w.write("asked", name, 0, now(), "")
	lease, err := locker.Acquire(ctx, fmt.Sprint("counter-", name))
	if err != nil {
		if ctx.Err() == nil && !errors.Is(err, rowlock.ErrUnavailable) {
			w.write("failed", name, 0, now(), err.Error())
		}
		return
	}
	w.write("granted", name, lease.Token(), now(), "")
	for range rand.IntN(20) {
		if at := now(); lease.Err() == nil {
			w.write("trusted", name, lease.Token(), at, "")
		} else if rand.IntN(2) == 0 {
			break // half of them go on writing after the loss, which the token must stop
		}
		w.count(lease.Token(), name)
		time.Sleep(rand.N(10 * time.Millisecond)) // the work between two writes
	}
	err = lease.Release(ctx)
	w.write("released", name, lease.Token(), now(), fmt.Sprint(err))
}

// count adds one to the counter, unless a newer token has been there.
func (w worker) count(token rowlock.Token, name int) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	tx, err := w.db.BeginTx(ctx, nil)
	if err != nil {
		return
	}
	defer func() { _ = tx.Rollback() }()
	var newest rowlock.Token
	var n int64
	if tx.QueryRowContext(ctx, w.d.bind("SELECT token, n FROM counter WHERE id = ?"+w.d.lock), name).Scan(&newest, &n) != nil {
		return
	}
	if newest > token {
		w.write("stale", name, token, now(), fmt.Sprint(newest))
		return
	}
	if _, err := tx.ExecContext(ctx, w.d.bind("UPDATE counter SET token = ?, n = ? WHERE id = ?"), int64(token), n+1, name); err != nil {
		return
	}
	if _, err := tx.ExecContext(ctx, w.d.bind("INSERT INTO ledger (id, n, token, worker) VALUES (?, ?, ?, ?)"), name, n+1, int64(token), w.Worker); err != nil {
		return
	}
	if tx.Commit() == nil {
		w.write("counted", name, token, now(), fmt.Sprint(n+1))
	}
}

func now() int64 { return time.Now().UnixNano() }

package sqlbase

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlhandle"
)

const (
	IdleLimit    = 5 * time.Second // a connection that nobody uses is kept for as long
	ConnectLimit = 5 * time.Second // for opening one
)

// Reserve is one connection beside the application's pool, for what must not wait until the application gives one
// back. It is opened when the pool is full, and closed when it was not needed for a while.
type Reserve struct {
	open      func() (*Spare, error) // nil if the handle does not tell how
	releasing chan struct{}          // full while a release uses it

	mu  sync.Mutex
	now *Spare // nil while there is none
}

// Spare is a pool of one connection.
type Spare struct {
	Q     Querier
	Close func() // returns when nothing of it is left

	users   int
	dropped bool // closed by the last user
	idle    *time.Timer
}

// NewReserve is a reserve that open opens.
func NewReserve(open func() (*Spare, error)) *Reserve {
	return &Reserve{open: open, releasing: make(chan struct{}, 1)}
}

// ReserveFor is for a handle of database/sql, on which by makes a querier.
func ReserveFor(db *sql.DB, by func(*sql.DB) Querier) *Reserve {
	if sqlhandle.Connector(db) == nil {
		return &Reserve{}
	}
	return NewReserve(func() (*Spare, error) {
		one := sqlhandle.OpenOne(db, ConnectLimit)
		return &Spare{Q: by(one), Close: func() { _ = one.Close() }}, nil
	})
}

// WarningsOf is what weakens the promises in the way that db is set up.
func WarningsOf(db *sql.DB) []string {
	if sqlhandle.Connector(db) == nil {
		return []string{"renewals share the connections of the application, because this release of Go does not tell how the handle opens one: give the locks a handle of their own"}
	}
	return sqlhandle.Warnings(db)
}

// lend runs work on the reserve. Releases use it one after the other, so that a renewal waits for one of them and not for all.
func (r *Reserve) lend(ctx context.Context, renews bool, work func(Querier) error) error {
	if !renews {
		waits, cancel := HalfOf(ctx)
		defer cancel()
		select {
		case r.releasing <- struct{}{}:
			defer func() { <-r.releasing }()
		case <-waits.Done():
			return driver.NotApplied(waits.Err())
		}
	}
	u, err := r.take()
	if err != nil {
		return driver.NotApplied(err)
	}
	err = work(u.Q)
	r.giveBack(u, err != nil && ctx.Err() != nil)
	return err
}

func (r *Reserve) take() (*Spare, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now == nil {
		now, err := r.open()
		if err != nil {
			return nil, err
		}
		r.now = now
	}
	if r.now.idle != nil {
		r.now.idle.Stop()
	}
	r.now.users++
	return r.now, nil
}

// giveBack ends a take. What is in doubt is lent to nobody else: its connection may be busy until the network gives
// it up.
func (r *Reserve) giveBack(u *Spare, doubtful bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if doubtful {
		r.drop(u)
	}
	u.users--
	switch {
	case u.users > 0:
	case u.dropped:
		go u.Close()
	default:
		u.idle = time.AfterFunc(IdleLimit, func() { r.expire(u) })
	}
}

// drop has nobody take u any more. The caller holds mu.
func (r *Reserve) drop(u *Spare) {
	u.dropped = true
	if r.now == u {
		r.now = nil
	}
}

// expire closes u if nobody uses it.
func (r *Reserve) expire(u *Spare) {
	r.mu.Lock()
	over := r.now == u && u.users == 0
	if over {
		r.drop(u)
	}
	r.mu.Unlock()
	if over {
		u.Close()
	}
}

// CloseIdle closes what nobody uses, and returns when that is done or ctx ends.
func (r *Reserve) CloseIdle(ctx context.Context) {
	r.mu.Lock()
	u := r.now
	r.mu.Unlock()
	if u == nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		r.expire(u)
	}()
	select {
	case <-done:
	case <-ctx.Done():
	}
}

// ForRenewals is a querier that sends statements through pool, and through the reserve while the pool is full.
func (r *Reserve) ForRenewals(pool Querier, usage func() Usage) Querier {
	return reservedQuerier{pool, usage, r, true}
}

// ForReleases is as ForRenewals, for statements that wait while a renewal needs the reserve.
func (r *Reserve) ForReleases(pool Querier, usage func() Usage) Querier {
	return reservedQuerier{pool, usage, r, false}
}

type reservedQuerier struct {
	pool    Querier
	usage   func() Usage
	reserve *Reserve
	renews  bool // goes before releases
}

func (q reservedQuerier) Query(ctx context.Context, statement string, args []any, read func(Rows) error) error {
	return q.lend(ctx, func(on Querier) error { return on.Query(ctx, statement, args, read) })
}

func (q reservedQuerier) Exec(ctx context.Context, statement string, args ...any) (r Result, err error) {
	err = q.lend(ctx, func(on Querier) (err error) {
		r, err = on.Exec(ctx, statement, args...)
		return err
	})
	return r, err
}

// lend runs work through the pool, or through the reserve while the pool is full. Where the reserve is not had in half of the time, because
// the server takes no further connection, the pool may still lend one.
func (q reservedQuerier) lend(ctx context.Context, work func(Querier) error) error {
	if q.reserve.open == nil || !q.usage().full() {
		return work(q.pool)
	}
	err := q.reserve.lend(ctx, q.renews, work)
	if !driver.IsNotApplied(err) || ctx.Err() != nil {
		return err
	}
	waited := work(q.pool)
	if driver.IsNotApplied(waited) {
		return fmt.Errorf("%w, and none beside it: %v", waited, err) //nolint:errorlint // what became of the statement is what the pool says
	}
	return waited
}

package sqllock

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/sqlhandle"
)

// reserve is one connection beside the application's pool, for what must not wait until the application gives one
// back. It is opened when the pool is full, and closed when it was not needed for a while.
type reserve struct {
	open      func() (*reserved, error) // nil if the handle does not tell how
	releasing chan struct{}             // full while a release uses it

	mu  sync.Mutex
	now *reserved // nil while there is none
}

// reserved is a pool of one connection.
type reserved struct {
	q     querier
	close func() // returns when nothing of it is left

	users   int
	dropped bool // closed by the last user
	idle    *time.Timer
}

func newReserve(open func() (*reserved, error)) *reserve {
	return &reserve{open: open, releasing: make(chan struct{}, 1)}
}

// reservePgx is for a pool of pgx's. The connection is set up by the hooks of the pool, as all others of it.
func reservePgx(pool *pgxpool.Pool) *reserve {
	return newReserve(func() (*reserved, error) {
		config := pool.Config()
		config.MaxConns, config.MinConns, config.MinIdleConns = 1, 0, 0
		if limit := config.ConnConfig.ConnectTimeout; limit <= 0 || limit > connectLimit {
			config.ConnConfig.ConnectTimeout = connectLimit
		}
		one, err := pgxpool.NewWithConfig(context.Background(), config)
		if err != nil {
			return nil, err
		}
		return &reserved{q: pgxPool{one, true}, close: one.Close}, nil
	})
}

// reserveSQL is for a handle of database/sql, on which by makes a querier.
func reserveSQL(db *sql.DB, by func(*sql.DB) querier) *reserve {
	if sqlhandle.Connector(db) == nil {
		return &reserve{}
	}
	return newReserve(func() (*reserved, error) {
		one := sqlhandle.OpenOne(db, connectLimit)
		return &reserved{q: by(one), close: func() { _ = one.Close() }}, nil
	})
}

// warningsOf is what weakens the promises in the way that db is set up.
func warningsOf(db *sql.DB) []string {
	if sqlhandle.Connector(db) == nil {
		return []string{"renewals share the connections of the application, because this release of Go does not tell how the handle opens one: give the locks a handle of their own"}
	}
	return sqlhandle.Warnings(db)
}

// lend runs work on the reserve. Releases use it one after the other, so that a renewal waits for one of them and not for all.
func (r *reserve) lend(ctx context.Context, renews bool, work func(querier) error) error {
	if !renews {
		waits, cancel := halfOf(ctx)
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
	err = work(u.q)
	r.giveBack(u, err != nil && ctx.Err() != nil)
	return err
}

func (r *reserve) take() (*reserved, error) {
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
func (r *reserve) giveBack(u *reserved, doubtful bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if doubtful {
		r.drop(u)
	}
	u.users--
	switch {
	case u.users > 0:
	case u.dropped:
		go u.close()
	default:
		u.idle = time.AfterFunc(idleLimit, func() { r.expire(u) })
	}
}

// drop has nobody take u any more. The caller holds mu.
func (r *reserve) drop(u *reserved) {
	u.dropped = true
	if r.now == u {
		r.now = nil
	}
}

// expire closes u if nobody uses it.
func (r *reserve) expire(u *reserved) {
	r.mu.Lock()
	over := r.now == u && u.users == 0
	if over {
		r.drop(u)
	}
	r.mu.Unlock()
	if over {
		u.close()
	}
}

// closeIdle closes what nobody uses, and returns when that is done or ctx ends.
func (r *reserve) closeIdle(ctx context.Context) {
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

// reservedQuerier sends statements through the pool, and through the reserve while the pool is full.
type reservedQuerier struct {
	pool    querier
	usage   func() usage
	reserve *reserve
	renews  bool // goes before releases
}

func (q reservedQuerier) query(ctx context.Context, statement string, args []any, read func(rows) error) error {
	return q.lend(ctx, func(on querier) error { return on.query(ctx, statement, args, read) })
}

func (q reservedQuerier) exec(ctx context.Context, statement string, args ...any) (r result, err error) {
	err = q.lend(ctx, func(on querier) (err error) {
		r, err = on.exec(ctx, statement, args...)
		return err
	})
	return r, err
}

// lend runs work through the pool, or through the reserve while the pool is full. Where the reserve is not had in half of the time, because
// the server takes no further connection, the pool may still lend one.
func (q reservedQuerier) lend(ctx context.Context, work func(querier) error) error {
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

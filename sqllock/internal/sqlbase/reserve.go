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
	IdleLimit    = 5 * time.Second // how long an unused connection stays open
	ConnectLimit = 5 * time.Second // how long opening a connection may take
)

// Reserve is one connection in addition to the application's pool. Renewals and releases use it while all connections
// of the pool are in use, because they must not wait for the application. The connection is opened on demand, and
// closed when it has been idle for [IdleLimit].
type Reserve struct {
	open      func() (*Spare, error) // nil if it is unknown how the pool opens its connections
	idle      time.Duration          // how long the connection stays open while no statement uses it
	releasing chan struct{}          // contains a value while a release uses the reserve

	mu  sync.Mutex
	now *Spare // nil while there is no connection
}

// Spare is a pool of one connection, which the reserve opens.
type Spare struct {
	Q     Querier
	Close func() // closes the connection, and returns when it is closed

	users   int
	dropped bool // true if no new statement may use the connection; the last of the running statements closes it
	idle    *time.Timer
}

// NewReserve returns a reserve that opens its connection with the function open.
func NewReserve(open func() (*Spare, error)) *Reserve {
	return &Reserve{open: open, idle: IdleLimit, releasing: make(chan struct{}, 1)}
}

// SetIdle sets how long the connection stays open while no statement uses it. Only tests call this method, before they
// use r.
func (r *Reserve) SetIdle(d time.Duration) { r.idle = d }

// ReserveFor returns a reserve for a handle of database/sql. The function querier returns the querier for the reserve's
// own handle.
func ReserveFor(db *sql.DB, querier func(*sql.DB) Querier) *Reserve {
	if sqlhandle.Connector(db) == nil {
		return &Reserve{}
	}
	return NewReserve(func() (*Spare, error) {
		one := sqlhandle.OpenOne(db, ConnectLimit)
		return &Spare{Q: querier(one), Close: func() { _ = one.Close() }}, nil
	})
}

// WarningsOf returns a warning for each setting of db that weakens the promises of locks.
func WarningsOf(db *sql.DB) []string {
	if sqlhandle.Connector(db) == nil {
		return []string{"renewals share the connections of the application, because the connector of the handle cannot be read with this release of Go: give the locks a separate handle"}
	}
	return sqlhandle.Warnings(db)
}

// lend runs the function work on the reserve's connection. A renewal takes the connection at once, and a release waits
// until no other release uses the reserve. So on the connection itself a renewal waits for at most one release.
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

// giveBack ends the use of u. If doubtful is true, the connection is closed, because it may be blocked until the
// network times out.
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
		u.idle = time.AfterFunc(r.idle, func() { r.expire(u) })
	}
}

// drop prevents that further statements use u. The caller holds mu.
func (r *Reserve) drop(u *Spare) {
	u.dropped = true
	if r.now == u {
		r.now = nil
	}
}

// expire closes u if no statement uses it.
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

// CloseIdle closes the connection if no statement uses it. It returns when the connection is closed or ctx ends.
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

// ForRenewals returns a querier that sends statements through pool, or through the reserve while all connections of
// the pool are in use.
func (r *Reserve) ForRenewals(pool Querier, usage func() Usage) Querier {
	return reservedQuerier{pool, usage, r, true}
}

// ForReleases is like ForRenewals, but only one release at a time uses the reserve.
func (r *Reserve) ForReleases(pool Querier, usage func() Usage) Querier {
	return reservedQuerier{pool, usage, r, false}
}

type reservedQuerier struct {
	pool    Querier
	usage   func() Usage
	reserve *Reserve
	renews  bool // true for renewals, which do not queue behind releases
}

func (q reservedQuerier) Query(ctx context.Context, statement string, args []any, read func(Rows) error) error {
	return q.Lend(ctx, func(on Querier) error { return on.Query(ctx, statement, args, read) })
}

func (q reservedQuerier) Exec(ctx context.Context, statement string, args ...any) (r Result, err error) {
	err = q.Lend(ctx, func(on Querier) (err error) {
		r, err = on.Exec(ctx, statement, args...)
		return err
	})
	return r, err
}

// Lend runs the function work through the pool, or through the reserve while all connections of the pool are in use. If
// the reserve cannot connect within half of the time until ctx's deadline, because the server accepts no further
// connection, Lend uses the pool.
func (q reservedQuerier) Lend(ctx context.Context, work func(Querier) error) error {
	if q.reserve.open == nil || !q.usage().full() {
		return work(q.pool)
	}
	err := q.reserve.lend(ctx, q.renews, work)
	if !driver.IsNotApplied(err) || ctx.Err() != nil {
		return err
	}
	waited := work(q.pool)
	if driver.IsNotApplied(waited) {
		return fmt.Errorf("%w, and the additional connection failed: %v", waited, err) //nolint:errorlint // only the pool's error says whether the statement had an effect
	}
	return waited
}

package postgres

import (
	"context"
	"database/sql"

	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"

	sqldriver "database/sql/driver"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ear is what a listener sends its statements through, and hears calls by. It is for one
// goroutine, but for poke.
type ear interface {
	exec(ctx context.Context, statement string, args ...any) error
	// wait returns the payload of the next notification; it answers false at the deadline, or when it was poked.
	wait(until time.Time) (payload string, heard bool, err error)
	poke()
	close()
}

// pgxEar is a connection of pgx, from either kind of pool.
type pgxEar struct {
	raw   *pgx.Conn
	with  func(func(*pgx.Conn) error) error // lends raw
	end   func()                            // gives the place in the pool back, if it has one
	mu    sync.Mutex
	waits bool // the goroutine reads from the socket
	poked bool
}

// openPgx takes a connection out of the pool, whose limit does not count it any more.
func openPgx(pool *pgxpool.Pool) func(context.Context) (ear, error) {
	return func(ctx context.Context) (ear, error) {
		conn, err := pool.Acquire(ctx)
		if err != nil {
			return nil, err
		}
		if err := direct(ctx, conn.Conn()); err != nil {
			conn.Release()
			return nil, err
		}
		raw := conn.Hijack()
		return &pgxEar{raw: raw, with: func(f func(*pgx.Conn) error) error { return f(raw) }, end: func() {}}, nil
	}
}

// openSQL borrows a connection of the pool, if it is one of pgx and not the only one.
func openSQL(db *sql.DB) func(context.Context) (ear, error) {
	return func(ctx context.Context) (ear, error) {
		if db.Stats().MaxOpenConnections == 1 {
			return nil, errDeaf
		}
		conn, err := db.Conn(ctx)
		if err != nil {
			return nil, err
		}
		var raw *pgx.Conn
		err = conn.Raw(func(dc any) error {
			std, ok := dc.(interface{ Conn() *pgx.Conn }) // pgx's driver for database/sql
			if !ok {
				return errDeaf
			}
			raw = std.Conn()
			return direct(ctx, raw)
		})
		if err != nil {
			_ = conn.Close() // back to the pool: nobody has listened on it
			return nil, err
		}
		return &pgxEar{
			raw:  raw,
			with: func(f func(*pgx.Conn) error) error { return conn.Raw(func(any) error { return f(raw) }) },
			end: func() {
				_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // the pool throws it away
				_ = conn.Close()                                              // says that it is closed
			},
		}, nil
	}
}

var (
	errDeaf   = errors.New("the driver lends no connection of pgx, or the pool has no second one to lend")
	errPooler = errors.New("a pooler stands before the server")
)

// direct asks which server process runs the statements: a pooler tells its clients of another. Through one
// nobody listens. In transaction mode nothing would be heard; and PgBouncer 1.18, when a notification
// reaches a connection that it has just handed to a client, was seen to hand it to the next one too early.
func direct(ctx context.Context, raw *pgx.Conn) error {
	var pid uint32
	if err := raw.QueryRow(ctx, "SELECT pg_backend_pid()", pgx.QueryExecModeExec).Scan(&pid); err != nil {
		return err
	}
	if pid != raw.PgConn().PID() {
		return errPooler
	}
	return nil
}

func (e *pgxEar) exec(ctx context.Context, statement string, args ...any) error {
	return e.with(func(raw *pgx.Conn) error {
		_, err := raw.Exec(ctx, statement, args...)
		return err
	})
}

// wait is bounded and poked by a deadline of the socket and not by a context, because pgx can be set up
// to answer the end of a context with a request to cancel, which might hit the next statement.
func (e *pgxEar) wait(until time.Time) (id string, heard bool, err error) {
	err = e.with(func(raw *pgx.Conn) error {
		socket := raw.PgConn().Conn()
		e.mu.Lock()
		if e.poked {
			until = time.Time{}
			e.poked = false
		}
		if until.IsZero() {
			e.mu.Unlock()
			return nil
		}
		e.waits = true
		_ = socket.SetReadDeadline(until) // fails on a closed socket, from which nothing is read
		e.mu.Unlock()
		n, err := raw.WaitForNotification(context.Background())
		e.mu.Lock()
		e.waits, e.poked = false, false
		reset := socket.SetReadDeadline(time.Time{})
		e.mu.Unlock()
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			return reset
		}
		if err == nil {
			heard = true
			if n != nil { // else the pool's user has a handler of his own, and everybody is woken
				id = n.Payload
			}
			return reset
		}
		return err
	})
	return id, heard, err
}

func (e *pgxEar) poke() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.poked = true
	if e.waits {
		_ = e.raw.PgConn().Conn().SetReadDeadline(time.Unix(1, 0)) // fails on a closed socket, where wait ends by itself
	}
}

// goodbye is how long the end of a connection may take.
const goodbye = 250 * time.Millisecond

// close ends the connection, whatever state it is in: it listens, and is nothing for a pool.
func (e *pgxEar) close() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = e.raw.Close(ctx) // it is over either way
	e.end()
}

// deaf sends statements through the pool and hears nothing.
type deaf struct {
	q     sqlbase.Querier
	pokes chan struct{} // holds one
}

func newDeaf(q sqlbase.Querier) *deaf { return &deaf{q: q, pokes: make(chan struct{}, 1)} }

func (d *deaf) exec(ctx context.Context, statement string, args ...any) error {
	_, err := d.q.Exec(ctx, statement, args...)
	return err
}

func (d *deaf) wait(until time.Time) (string, bool, error) {
	timer := time.NewTimer(time.Until(until))
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-d.pokes:
	}
	return "", false, nil
}

func (d *deaf) poke() {
	select {
	case d.pokes <- struct{}{}:
	default:
	}
}

func (d *deaf) close() {}

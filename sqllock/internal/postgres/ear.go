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

// ear is the connection on which a listener sends its statements and receives notifications. Only the listener's
// goroutine calls its methods, except poke, which any goroutine may call.
type ear interface {
	exec(ctx context.Context, statement string, args ...any) error
	// wait waits for the next notification, and returns its payload. The result heard is false if the given time is
	// reached or poke is called.
	wait(until time.Time) (payload string, heard bool, err error)
	poke()
	close()
}

// pgxEar is an ear on a pgx connection, taken from a pool of pgx or of database/sql.
type pgxEar struct {
	raw   *pgx.Conn
	with  func(func(*pgx.Conn) error) error // passes the connection to the given function
	end   func()                            // removes the connection from its pool; does nothing if the connection was taken out of the pool before
	mu    sync.Mutex
	waits bool // true if the listener's goroutine is reading from the socket
	poked bool
}

// openPgx returns a function that takes a connection out of the pool. The connection then no longer counts towards
// the pool's limit.
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

// openSQL returns a function that borrows a connection from the pool. That function fails with errDeaf if the driver
// is not pgx or the pool is limited to one connection.
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
			_ = conn.Close() // returns the connection to the pool: it has not executed LISTEN
			return nil, err
		}
		return &pgxEar{
			raw:  raw,
			with: func(f func(*pgx.Conn) error) error { return conn.Raw(func(any) error { return f(raw) }) },
			end: func() {
				_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // makes the pool discard the connection
				_ = conn.Close()                                              // returns an error, because the connection is already closed
			},
		}, nil
	}
}

var (
	errDeaf   = errors.New("the driver is not pgx, or the pool is limited to one connection")
	errPooler = errors.New("there is a pooler between this process and the server")
)

// direct returns errPooler if there is a pooler between this process and the server. It compares the process id that
// the connection reported at login with the id of the server process that runs statements. A pooler reports an id of
// its own. The listener does not listen through a pooler, for two reasons. In transaction mode no notification would
// arrive. PgBouncer 1.18 has a bug: if a notification arrives on a server connection that it has just assigned to a
// client, it assigns that connection to the next client too early.
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

// wait uses a deadline of the socket instead of a context. pgx can be configured to send a cancel request when a
// context ends, and that request could cancel the next statement.
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
		_ = socket.SetReadDeadline(until) // an error means that the socket is closed, and then the read fails at once
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
			if n != nil { // n is nil if the application's own handler has received the notification; the empty id then wakes every waiter
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
		_ = e.raw.PgConn().Conn().SetReadDeadline(time.Unix(1, 0)) // an error means that the socket is closed, and then wait ends by itself
	}
}

// goodbye bounds how long closing a connection may take.
const goodbye = 250 * time.Millisecond

// close closes the connection, in any state. The connection is not returned to the pool, because it still listens.
func (e *pgxEar) close() {
	ctx, cancel := context.WithTimeout(context.Background(), goodbye)
	defer cancel()
	_ = e.raw.Close(ctx) // the connection is closed even after an error
	e.end()
}

// deaf is an ear that sends statements through the pool and receives no notifications.
type deaf struct {
	q     sqlbase.Querier
	pokes chan struct{} // contains at most one value
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

package advisory

import (
	"context"
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
)

// pgxConn is a connection of pgx, from a pgx pool or from database/sql.
type pgxConn struct {
	raw         *pgx.Conn
	net         net.Conn
	watchable   bool
	with        func(func(*pgx.Conn) error) error // calls the function with raw; no other code uses raw until the function returns
	back        func()
	discard     func()
	interrupted atomic.Bool
}

func (c *pgxConn) query(ctx context.Context, once bool, statement string, args []any, dest ...any) error {
	if once {
		args = append([]any{pgx.QueryExecModeExec}, args...)
	}
	return c.with(func(raw *pgx.Conn) error { return raw.QueryRow(ctx, statement, args...).Scan(dest...) })
}

func (c *pgxConn) exec(ctx context.Context, statement string) error {
	return c.with(func(raw *pgx.Conn) error {
		_, err := raw.Exec(ctx, statement, pgx.QueryExecModeExec)
		return err
	})
}

func (c *pgxConn) loginPID() uint32       { return c.raw.PgConn().PID() }
func (c *pgxConn) closed() bool           { return c.raw.IsClosed() }
func (c *pgxConn) memory() map[string]any { return c.raw.PgConn().CustomData() }
func (c *pgxConn) watches() bool          { return c.watchable }
func (c *pgxConn) giveBack()              { c.back() }
func (c *pgxConn) destroy()               { c.discard() }

// wait reads from the connection until the connection ends. To interrupt the read, interrupt sets a read deadline
// on the socket. Cancelling a context would not be safe: pgx can be configured to send a cancel request
// when a context ends, and that request might cancel the next statement.
func (c *pgxConn) wait() error {
	err := c.with(func(raw *pgx.Conn) error {
		for {
			err := raw.PgConn().WaitForNotification(context.Background())
			if err != nil { // no error means that a notification arrived, because the application uses LISTEN on this connection; ignore it
				return err
			}
		}
	})
	if !c.interrupted.Load() {
		return err
	}
	c.interrupted.Store(false)
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() {
		return err
	}
	return c.net.SetReadDeadline(time.Time{})
}

// interruptible reports whether a read from c can be interrupted. A connection through a tunnel, such as those of
// golang.org/x/crypto/ssh, may not support deadlines.
func interruptible(c net.Conn) bool { return c.SetReadDeadline(time.Time{}) == nil }

func (c *pgxConn) interrupt() {
	c.interrupted.Store(true)
	_ = c.net.SetReadDeadline(time.Unix(1, 0)) // fails if the socket is closed; then the read of wait ends without a deadline
}

// closeLimit is how long closeHard waits for the server to close its side of the connection. The server releases the
// session's locks before it closes its side. So a statement that is sent after the server has closed its side finds the
// locks free.
const closeLimit = 250 * time.Millisecond

// closeHard closes a connection. It also works if the connection is already closed, or while pgx is closing it.
func closeHard(raw *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if !raw.IsClosed() {
		_ = raw.Close(ctx) // even after an error, the connection is closed
		return
	}
	select {
	case <-raw.PgConn().CleanupDone(): // pgx is closing the connection in the background
	case <-ctx.Done():
		_ = raw.PgConn().Conn().Close()
	}
}

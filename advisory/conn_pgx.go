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
	with        func(func(*pgx.Conn) error) error // calls a function with raw
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

// wait stops at a deadline of the socket, not at the end of a context. pgx can be configured to answer the end of a
// context with a request to cancel, which might cancel the next statement.
func (c *pgxConn) wait() error {
	err := c.with(func(raw *pgx.Conn) error {
		for {
			err := raw.PgConn().WaitForNotification(context.Background())
			if err != nil { // otherwise it was a notification that the caller had subscribed to
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
	_ = c.net.SetReadDeadline(time.Unix(1, 0)) // this fails on a closed socket, but then wait ends anyway
}

// closeLimit is how long to wait for the server's end of a connection that we close. The server releases the locks before
// it closes its side, so later statements find them free.
const closeLimit = 250 * time.Millisecond

// closeHard closes the connection in any state.
func closeHard(raw *pgx.Conn) {
	ctx, cancel := context.WithTimeout(context.Background(), closeLimit)
	defer cancel()
	if !raw.IsClosed() {
		_ = raw.Close(ctx) // the connection is closed in any case
		return
	}
	select {
	case <-raw.PgConn().CleanupDone(): // pgx is closing it in the background
	case <-ctx.Done():
		_ = raw.PgConn().Conn().Close()
	}
}

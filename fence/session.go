package fence

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"time"

	"github.com/rowlock/rowlock/internal/bounded"
)

// endLimit is the time limit for ending a transaction whose ctx has ended.
const endLimit = time.Second

var errOldSnapshot = errors.New("the transaction read before the seal: check first, then read")

// session is a connection with a transaction of Tx. The steps that end the transaction or the connection run one after
// another, even if the caller no longer waits for them. Otherwise database/sql could panic: it dereferences nil if a
// Conn is used and closed at the same time.
type session struct {
	conn *sql.Conn
	tx   *sql.Tx
	file bool
	last chan struct{} // closed when the most recently begun step has ended
}

func (g *Guard) newSession(conn *sql.Conn, tx *sql.Tx) *session {
	se := &session{conn: conn, tx: tx, file: g.isFile(), last: make(chan struct{})}
	close(se.last)
	return se
}

// isFile reports whether the database is a file. Then there is no server that could stop answering.
func (g *Guard) isFile() bool {
	_, file := g.dialect.(*sqlite)
	return file
}

// taken calls the function take, which may ignore ctx, and returns its result. If ctx ends first, taken returns ctx's
// error, and passes the result of take to the function late as soon as take returns. With SQLite, taken always waits
// until take returns.
func taken[T any](ctx context.Context, g *Guard, take func() (T, error), late func(T)) (T, error) {
	if g.isFile() {
		return take()
	}
	return bounded.Do(ctx, take, late)
}

// await calls the function work, which may ignore ctx, and returns its result. If ctx ends first, await returns ctx's
// error. On a file, await always waits for work, because a read of the outcome during the commit would still see the
// old state.
func (se *session) await(ctx context.Context, work func() error) error {
	if se.file {
		return work()
	}
	before, ended := se.last, make(chan struct{})
	se.last = ended
	return bounded.Run(ctx, func() error {
		defer close(ended)
		<-before
		return work()
	})
}

// end does what await does, for a step that ends the transaction or the connection. It waits for at most endLimit, even
// if ctx has ended. A step that takes longer continues until the connection breaks.
func (se *session) end(ctx context.Context, how func() error) error {
	if se.file {
		return how()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	return se.await(ending, how)
}

// discard closes a connection in an unknown state instead of returning it to the pool.
func discard(conn *sql.Conn) {
	_ = beside(func() error {
		return conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // tells database/sql to close the connection
	})
}

// beside calls the function use. The connection that use works with may be closed by database/sql at the same time,
// because the context of its transaction has ended. Conn.grabConn of database/sql checks whether the connection is
// closed before it takes the lock, and can therefore dereference nil. beside turns that panic into sql.ErrConnDone.
func beside(use func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = sql.ErrConnDone
		}
	}()
	return use()
}

// undo rolls back the open transaction of a connection. If that fails, it closes the connection.
func undo(ctx context.Context, conn *sql.Conn, rollback string) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if _, err := conn.ExecContext(ending, rollback); err != nil {
		discard(conn)
	}
}

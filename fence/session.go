package fence

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"errors"
	"time"

	"github.com/rowlock/rowlock/internal/bounded"
)

// endLimit bounds the end of a transaction whose ctx has ended.
const endLimit = time.Second

var errOldSnapshot = errors.New("the transaction began to read before the seal: check first, then read")

// session is a connection on which a transaction of Tx runs. What ends it is done in turn, also what nobody waits for any more: database/sql
// dereferences nil where a Conn is used and closed at the same time.
type session struct {
	conn *sql.Conn
	tx   *sql.Tx
	file bool
	last chan struct{} // closed when what was begun last has ended
}

func (g *Guard) newSession(conn *sql.Conn, tx *sql.Tx) *session {
	se := &session{conn: conn, tx: tx, file: g.isFile(), last: make(chan struct{})}
	close(se.last)
	return se
}

// isFile reports whether nobody can fall silent.
func (g *Guard) isFile() bool {
	_, file := g.dialect.(*sqlite)
	return file
}

// taken is what take returns; or ctx's error if that ends first, which a driver may not heed, and what take returns then is given to late.
func taken[T any](ctx context.Context, g *Guard, take func() (T, error), late func(T)) (T, error) {
	if g.isFile() {
		return take()
	}
	return bounded.Do(ctx, take, late)
}

// await returns what work does, or ctx's error if that ends first: a driver may not heed a context. Work on a file is waited for: who
// reads the file while a commit is under way sees what was before.
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

// end is await of what ends what a call has begun, no longer than endLimit. What was not waited for ends with the connection.
func (se *session) end(ctx context.Context, how func() error) error {
	if se.file {
		return how()
	}
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	return se.await(ending, how)
}

// discard closes a connection in doubt instead of giving it back to its pool.
func discard(conn *sql.Conn) {
	_ = beside(func() error {
		return conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // that error is the order to close it
	})
}

// beside uses a connection that database/sql may close just then, because the context of its transaction has ended: that is a nil pointer
// there (Conn.grabConn looks whether it is closed before it locks), and should be sql.ErrConnDone.
func beside(use func() error) (err error) {
	defer func() {
		if recover() != nil {
			err = sql.ErrConnDone
		}
	}()
	return use()
}

// undo rolls back what is open on a connection, or closes it.
func undo(ctx context.Context, conn *sql.Conn, rollback string) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if _, err := conn.ExecContext(ending, rollback); err != nil {
		discard(conn)
	}
}

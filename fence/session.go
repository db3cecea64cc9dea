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

// discard closes a connection in doubt instead of giving it back to its pool.
func discard(conn *sql.Conn) {
	_ = conn.Raw(func(any) error { return sqldriver.ErrBadConn }) // that error is the order to close it
}

// await returns what work does, or ctx's error if that ends first: a driver may not heed a context. Work on a file is waited for: nobody can
// fall silent, and who reads the file while a commit is under way sees what was before.
func (g *Guard) await(ctx context.Context, work func() error) error {
	if _, file := g.dialect.(*sqlite); file {
		return work()
	}
	return bounded.Run(ctx, work)
}

// end is await of what ends what a call has begun, no longer than endLimit. What was not waited for ends with the connection.
func (g *Guard) end(ctx context.Context, how func() error) error {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	return g.await(ending, how)
}

// undo rolls back what is open on a connection, or closes it.
func undo(ctx context.Context, conn *sql.Conn, rollback string) {
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), endLimit)
	defer cancel()
	if _, err := conn.ExecContext(ending, rollback); err != nil {
		discard(conn)
	}
}

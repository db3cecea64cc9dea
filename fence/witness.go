package fence

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// witness finds out whether a connection of pgx is in a transaction, from the status in the server's last reply. A
// witness is passed as the first argument of a statement, and pgx calls its RewriteQuery with the connection before it
// sends the statement. Reading this status needs no round trip. It also works for a *sql.Tx, which does not expose its
// connection. A statement cannot find out whether a transaction is open: now() and statement_timestamp() differ outside
// a transaction too, because a driver sends a statement in several messages.
type witness struct {
	asked   bool // pgx has called RewriteQuery
	refused bool // database/sql or another driver has rejected the argument
}

var _ pgx.QueryRewriter = (*witness)(nil)

// idle is the status of a connection without an open transaction.
const idle = 'I'

// RewriteQuery is called by pgx. It changes nothing. If no transaction is open, it returns an error, and pgx does not
// send the statement.
func (w *witness) RewriteQuery(_ context.Context, conn *pgx.Conn, statement string, args []any) (string, []any, error) {
	w.asked = true
	if conn.PgConn().TxStatus() == idle {
		return "", nil, errNoTransaction
	}
	return statement, args, nil
}

func (w *witness) saw() bool { return w != nil && w.asked }

// witnessed sends a statement through the function send. It passes w to the driver as the first argument of the
// statement, until pgx has recognised w once. A driver other than pgx rejects that argument before it sends anything.
// Then witnessed sends the statement without w.
func witnessed[T any](w *witness, args []any, send func(args []any) (T, error)) (T, error) {
	if w == nil || w.asked || w.refused {
		return send(args)
	}
	answer, err := send(append([]any{w}, args...))
	switch {
	case errors.Is(err, errNoTransaction):
		return answer, errNoTransaction // without pgx's text about a statement that was not sent
	case w.asked || err == nil:
		return answer, err
	}
	w.refused = true
	return send(args)
}

package fence

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// witness finds out whether a connection of pgx is in a transaction, from the status in the server's last reply. It is passed as the first
// argument of a statement, and pgx calls it with the connection before it sends the statement. This needs no round trip, and it works for a
// *sql.Tx, which cannot lend its connection. SQL cannot answer the question: now() and statement_timestamp() also differ outside of a
// transaction, because of the extended protocol.
type witness struct {
	asked   bool // by pgx
	refused bool // as an argument, by database/sql or another driver
}

var _ pgx.QueryRewriter = (*witness)(nil)

// idle is the status of a connection on which no transaction is open.
const idle = 'I'

// RewriteQuery is called by pgx. It changes nothing. Its error keeps pgx from sending the statement if there is no transaction.
func (w *witness) RewriteQuery(_ context.Context, conn *pgx.Conn, statement string, args []any) (string, []any, error) {
	w.asked = true
	if conn.PgConn().TxStatus() == idle {
		return "", nil, errNoTransaction
	}
	return statement, args, nil
}

func (w *witness) saw() bool { return w != nil && w.asked }

// witnessed sends a statement with w as its first argument, until w has an answer. Another driver than pgx refuses that argument before it sends
// anything, and the statement is sent without it.
func witnessed[T any](w *witness, args []any, send func(args []any) (T, error)) (T, error) {
	if w == nil || w.asked || w.refused {
		return send(args)
	}
	answer, err := send(append([]any{w}, args...))
	switch {
	case errors.Is(err, errNoTransaction):
		return answer, errNoTransaction // without what pgx says about a statement that was not sent
	case w.asked || err == nil:
		return answer, err
	}
	w.refused = true
	return send(args)
}

package fence

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
)

// witness looks whether a connection of pgx is in a transaction, which the server has said with its last reply: it is the first argument of
// the next statement, and pgx hands it the connection before it sends that. So it needs no statement of its own, and a *sql.Tx need not
// lend its connection, which it cannot. (In SQL, now() and statement_timestamp() do not tell: through the extended protocol they also differ
// where there is no transaction.)
type witness struct {
	asked   bool // by pgx
	refused bool // as an argument, by database/sql or another driver
}

var _ pgx.QueryRewriter = (*witness)(nil)

// idle is the status of a connection on which no transaction is open.
const idle = 'I'

// RewriteQuery is called by pgx. It changes nothing, and keeps a statement from being sent if there is no transaction.
func (w *witness) RewriteQuery(_ context.Context, conn *pgx.Conn, statement string, args []any) (string, []any, error) {
	w.asked = true
	if conn.PgConn().TxStatus() == idle {
		return "", nil, errNoTransaction
	}
	return statement, args, nil
}

func (w *witness) saw() bool { return w != nil && w.asked }

// witnessed sends a statement with the witness if that is still wanted. A driver to which it means nothing refuses it as an argument, before
// anything is sent.
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

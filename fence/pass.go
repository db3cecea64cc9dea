package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// passer tells the triggers of protected tables that a transaction was checked. On Postgres the statement of the check
// does that, until the transaction ends. On the other databases, pass is a separate statement, and unpass undoes it.
type passer interface {
	pass(ctx context.Context, q querier, c claim) error
	unpass(ctx context.Context, q querier) error
	// refusal returns ErrUnchecked or ErrStale if a protected table returned err, else nil.
	refusal(err error) error
}

// Uncheck makes protected tables forget a [Guard.Check] on MySQL, MariaDB and SQLite with the option [Protected].
// Call it as the last statement of each checked transaction, before the commit. On MySQL and MariaDB,
// also call it before a rollback. [Guard.Tx] makes these calls itself. Uncheck does nothing on Postgres, and
// nothing without the option.
//
// Without this call, stale writes are still rejected, but later writes without a check are accepted until another lease
// seals. On MySQL and MariaDB such writes are accepted in the same session, and on SQLite from any process that opens
// the file. ctx limits the call. After an error the caller must roll back.
func (g *Guard) Uncheck(ctx context.Context, tx Transaction) error {
	if g.err != nil || !g.passing {
		return g.err
	}
	if err := g.dialect.unpass(ctx, sqlQuerier{conn: tx}); err != nil {
		return fmt.Errorf("fence: uncheck: %w", err)
	}
	return nil
}

// Explain wraps the error of a statement that a protected table has rejected. The result is an [ErrUnchecked] if the
// transaction was not checked. It is an [ErrStale] if the checked lease was not the last to seal the table's resource.
// Explain returns any other error unchanged. [Guard.Tx] and [Guard.TxPgx] call it for the errors of their function.
func (g *Guard) Explain(err error) error {
	if g.err != nil || err == nil {
		return err
	}
	if refusal := g.dialect.refusal(err); refusal != nil {
		return fmt.Errorf("%w: %w", refusal, err)
	}
	return err
}

var errEnded = errors.New("the function ignored the error of a statement that ended the transaction: later writes are committed")

// worked is called before the commit. The parameter err is the error of the function that Tx has run, and worked passes
// it to Explain. If that function succeeded on SQLite, worked verifies that the transaction is still open, and calls
// Uncheck to delete the row that records the check.
func (g *Guard) worked(ctx context.Context, tx *sql.Tx, err error) error {
	s, ok := g.dialect.(*sqlite)
	if !ok || err != nil {
		return g.Explain(err)
	}
	if errors.Is(s.begun(ctx, sqlQuerier{conn: tx}), errNoTransaction) {
		return fmt.Errorf("%w: %w", ErrUnknown, errEnded)
	}
	return g.Uncheck(ctx, tx)
}

// leave returns a connection to its pool. On MySQL and MariaDB it first clears the session variable that records the
// check, because the variable outlives the transaction. If that fails, leave closes the session.
func (g *Guard) leave(ctx context.Context, conn *sql.Conn) error {
	if _, ok := g.dialect.(*mysql); ok && g.passing {
		ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), restoreLimit)
		defer cancel()
		if beside(func() error { return g.dialect.unpass(ending, sqlQuerier{conn: conn}) }) != nil {
			discard(conn)
		}
	}
	return conn.Close()
}

func (p *postgres) pass(context.Context, querier, claim) error { return nil }
func (p *postgres) unpass(context.Context, querier) error      { return nil }
func (m *mysql) unpass(ctx context.Context, q querier) error   { return q.exec(ctx, m.sql["unpass"]) }
func (s *sqlite) unpass(ctx context.Context, q querier) error  { return q.exec(ctx, s.sql["unpass"]) }
func (m *mysql) pass(ctx context.Context, q querier, c claim) error {
	return m.classify(q.exec(ctx, m.sql["pass"], c.nonce, c.nonce))
}

func (s *sqlite) pass(ctx context.Context, q querier, c claim) error {
	return s.missing(q.exec(ctx, s.sql["pass"], c.nonce))
}

// missing returns a *SchemaError for SQLite's generic error code, because SQLite has no code for a missing table.
func (s *sqlite) missing(err error) error {
	if sqlerror.SQLite(err)&0xff == sqlitefile.CodeError {
		return &SchemaError{Table: s.table.String(), Err: err}
	}
	return err
}

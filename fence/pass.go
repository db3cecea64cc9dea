package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/rowlock/rowlock/internal/sqlerror"
	"github.com/rowlock/rowlock/internal/sqlitefile"
)

// passer is how a transaction shows protected tables that it has passed a check. On Postgres the
// statement of the check does it by itself, for the transaction alone; elsewhere it is a statement of
// its own, and another that takes it back.
type passer interface {
	pass(ctx context.Context, q querier, c claim) error
	unpass(ctx context.Context, q querier) error
	// refusal is ErrUnchecked or ErrStale if err is what a protected table answers, else nil.
	refusal(err error) error
}

// Uncheck makes protected tables forget what [Guard.Check] has shown them, on MySQL, MariaDB and
// SQLite with the option [Protected]: call it as the last statement of each transaction that was
// checked, before the commit, and on MySQL and MariaDB before a rollback too. [Guard.Tx] does. On
// Postgres, and without the option, it does nothing.
//
// Where it was left out, no stale write is let through, but one without a check: on MySQL and
// MariaDB in the same session, on SQLite by whoever opens the file, as long as nobody else has sealed.
// ctx bounds it. After an error the caller must roll back.
func (g *Guard) Uncheck(ctx context.Context, tx Transaction) error {
	if g.err != nil || !g.passing {
		return g.err
	}
	if err := g.dialect.unpass(ctx, sqlQuerier{conn: tx}); err != nil {
		return fmt.Errorf("fence: uncheck: %w", err)
	}
	return nil
}

// Explain marks the error of a statement that a protected table has refused: as an [ErrUnchecked] if
// the transaction has passed no check, and as an [ErrStale] if it was not one of the lease that
// sealed the table's resource last. Any other error is returned as it is. [Guard.Tx] and [Guard.TxPgx]
// do that to the errors of their function.
func (g *Guard) Explain(err error) error {
	if g.err != nil || err == nil {
		return err
	}
	if refusal := g.dialect.refusal(err); refusal != nil {
		return fmt.Errorf("%w: %w", refusal, err)
	}
	return err
}

var errEnded = errors.New("a statement of the function, whose error it ignored, has ended the transaction, and what was written after that is committed")

// worked ends what a function of Tx did, before the commit. On SQLite it looks whether the function noticed the end of its transaction, and
// a pass is a row there.
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

// leave gives a connection back to its pool. A pass on MySQL stays in the session, however the
// transaction ended; a session that does not take it back is closed.
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

// missing tells a missing table of passes by the code, which is all that SQLite has for it.
func (s *sqlite) missing(err error) error {
	if sqlerror.SQLite(err)&0xff == sqlitefile.CodeError {
		return &SchemaError{Table: s.table.String(), Err: err}
	}
	return err
}

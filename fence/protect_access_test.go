package fence_test

import (
	"context"
	"database/sql"
	"testing"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

const insert = "INSERT INTO ledger (token, seen) VALUES (1, 1)"

// application returns a pool of a user with the given privileges on the fence table, and all privileges on the rows of
// the ledger.
func (s *store) application(t *testing.T, privileges string) (db *sql.DB, user string) {
	t.Helper()
	db = s.as(t, privileges)
	if s.dialect == migrations.Postgres {
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT current_user").Scan(&user))
		s.exec(t, "GRANT INSERT, SELECT, UPDATE, DELETE ON ledger TO "+user)
		s.exec(t, "GRANT USAGE ON SEQUENCE ledger_id_seq TO "+user)
		return db, user
	}
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT SUBSTRING_INDEX(USER(), '@', 1)").Scan(&user))
	config, err := mysqldriver.ParseDSN(s.dsn)
	require.NoError(t, err)
	s.exec(t, "GRANT INSERT, SELECT, UPDATE, DELETE ON `"+config.DBName+"`.ledger TO '"+user+"'@'%'")
	return db, user
}

// To write to a protected table, a program needs only the privileges that Check needs. A program without these
// privileges that does not check gets an ErrUnchecked.
func TestAProtectedTableNeedsNoPrivileges(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.protect(t)
			db, _ := s.application(t, "SELECT, INSERT, UPDATE")
			lease := s.lease(t, "r")
			guard := e.guard(db, fence.Protected())
			require.NoError(t, guard.Seal(t.Context(), lease))
			require.NoError(t, guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) }))
			stranger, _ := s.application(t, "SELECT")
			_, err := stranger.ExecContext(t.Context(), insert)
			require.ErrorIs(t, guard.Explain(err), fence.ErrUnchecked)
		})
	}
}

// An administrator may write in a transaction that gives a reason. Other sessions still may not write during that
// transaction. After it, the administrator's session may not write either.
func TestAnAdministratorPasses(t *testing.T) {
	protected(t, func(t *testing.T, s *store) {
		begin, end := "SET LOCAL rowlock.pass = 'ticket 4711'", "SELECT 1"
		switch s.dialect {
		case migrations.MySQL:
			begin, end = "INSERT INTO rowlock_lease_fence_pass VALUES (CONNECTION_ID(), 'ticket 4711')", "DELETE FROM rowlock_lease_fence_pass WHERE connection_id = CONNECTION_ID()"
		case migrations.SQLite:
			begin, end = "INSERT INTO rowlock_lease_fence_pass (why) VALUES ('ticket 4711')", "DELETE FROM rowlock_lease_fence_pass"
		}
		s.db.SetMaxOpenConns(1)
		others := s.open(t, s.dsn)
		tx := s.begin(t, sql.LevelDefault)
		for _, statement := range append([]string{begin}, s.writes()...) {
			_, err := tx.ExecContext(t.Context(), statement)
			require.NoError(t, err, statement)
		}
		if s.dialect == migrations.MySQL { // on the other databases, the statements above lock out other sessions
			_, err := others.ExecContext(t.Context(), insert)
			require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
		}
		_, err := tx.ExecContext(t.Context(), end)
		require.NoError(t, err)
		require.NoError(t, tx.Commit())
		_, err = s.db.ExecContext(t.Context(), insert)
		require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
	})
}

// On Postgres, administrators are the table's owner and the members of the owner's role. On MySQL and MariaDB they are
// the users that may write to rowlock_lease_fence_pass.
func TestWhoIsAnAdministrator(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.protect(t)
			db, user := s.application(t, "SELECT, INSERT, UPDATE")
			if s.dialect == migrations.MySQL {
				_, err := db.ExecContext(t.Context(), "INSERT INTO rowlock_lease_fence_pass VALUES (CONNECTION_ID(), 'me')")
				require.ErrorContains(t, err, "denied")
				return
			}
			asking := "SET LOCAL rowlock.pass = 'me'; " + insert
			_, err := db.ExecContext(t.Context(), asking, pgx.QueryExecModeSimpleProtocol)
			require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked)
			owner, owning := s.application(t, "SELECT")
			s.exec(t, "GRANT CREATE ON SCHEMA public TO "+owning)
			s.exec(t, "ALTER TABLE ledger OWNER TO "+owning)
			_, err = owner.ExecContext(t.Context(), asking, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			_, err = owner.ExecContext(t.Context(), insert)
			require.ErrorIs(t, s.guard.Explain(err), fence.ErrUnchecked, "the administrator has to say so")
			s.exec(t, "GRANT "+owning+" TO "+user)
			_, err = db.ExecContext(t.Context(), asking, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
		})
	}
}

// The trigger's function uses the right fence table, whatever the search path of the writing session is.
func TestTheFunctionIsSafeFromTheSearchPath(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	s.protect(t)
	lease, newer := s.lease(t, "r"), s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	require.NoError(t, s.guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, "SET LOCAL search_path = ''; INSERT INTO public.ledger (token, seen) VALUES (1, 1)", pgx.QueryExecModeSimpleProtocol)
		return err
	}))
	require.NoError(t, s.guard.Seal(t.Context(), newer))
	tx := s.begin(t, sql.LevelDefault)
	_, err := tx.ExecContext(t.Context(), `CREATE TEMP TABLE rowlock_lease_fence AS
		SELECT namespace, resource, token, '`+lease.Nonce().String()+`'::uuid AS nonce FROM public.rowlock_lease_fence`)
	require.NoError(t, err)
	require.NoError(t, showing(t.Context(), s, tx, lease))
	_, err = tx.ExecContext(t.Context(), insert)
	require.ErrorIs(t, s.guard.Explain(err), fence.ErrStale)
	require.NoError(t, tx.Rollback())

	s.exec(t, `CREATE SCHEMA "Ops ""x"""`)
	s.exec(t, `CREATE SCHEMA ops`)
	for _, table := range []string{"ops.jobs", "Mixed"} {
		require.NoError(t, migrations.Up(t.Context(), s.db, s.dialect, migrations.Table(table)))
		guard := fence.Postgres(s.db, fence.Table(table))
		require.NoError(t, guard.Protect(t.Context(), "elsewhere", "r"))
		require.NoError(t, guard.Seal(t.Context(), newer))
		require.NoError(t, guard.Tx(newer.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO elsewhere VALUES (1)")
			return err
		}))
		require.NoError(t, migrations.Down(t.Context(), s.db, s.dialect, migrations.Table(table)), "the history")
		require.NoError(t, migrations.Down(t.Context(), s.db, s.dialect, migrations.Table(table)), "the sequence of package advisory")
		require.Error(t, migrations.Down(t.Context(), s.db, s.dialect, migrations.Table(table)), "the trigger needs the function")
		require.NoError(t, guard.Unprotect(t.Context(), "elsewhere"))
	}
}

// A guard on a pgx pool can protect a table, check, and explain the errors of a protected table.
func TestProtectPgx(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	pool, err := pgxpool.New(t.Context(), s.dsn)
	require.NoError(t, err)
	defer pool.Close()
	guard := fence.Pgx(pool)
	require.NoError(t, guard.Protect(t.Context(), "public.ledger", "r"))
	lease := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), lease))
	write := func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, insert)
		return err
	}
	require.NoError(t, guard.TxPgx(lease.Context(), write))
	other := s.lease(t, "other")
	require.NoError(t, guard.Seal(t.Context(), other))
	require.ErrorIs(t, guard.TxPgx(other.Context(), write), fence.ErrStale)
	_, err = pool.Exec(t.Context(), insert)
	require.ErrorIs(t, guard.Explain(err), fence.ErrUnchecked)
	require.ErrorContains(t, err, "rowlock: INSERT on ledger refused: the transaction has passed no check")
	require.NoError(t, guard.Unprotect(t.Context(), "public.ledger"))
	_, err = pool.Exec(t.Context(), insert)
	require.NoError(t, err)
}

// Through PgBouncer in transaction mode, a check does not let other clients of the same session write.
func TestCompatProtectThroughPgBouncer(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	pooled, direct := testenv.PgBouncer(t)
	s := &store{engine: postgres, locks: memlock.New()}
	s.db = s.open(t, direct)
	require.NoError(t, migrations.Up(t.Context(), s.db, s.dialect))
	s.exec(t, "CREATE TABLE ledger (id bigserial PRIMARY KEY, token bigint NOT NULL, seen bigint NOT NULL)")
	s.protect(t)
	through := s.open(t, pooled+"&default_query_exec_mode=exec")
	guard := fence.Postgres(through)
	lease := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), lease))
	for range 3 {
		require.NoError(t, guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error { return s.append(ctx, tx, lease) }))
		_, err := through.ExecContext(t.Context(), insert)
		require.ErrorIs(t, guard.Explain(err), fence.ErrUnchecked)
	}
}

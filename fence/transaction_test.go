package fence_test

import (
	"database/sql"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/otherdriver"
	"github.com/rowlock/rowlock/migrations"
)

// endings returns statements that end a transaction without database/sql noticing.
func (s *store) endings() []string {
	if s.dialect == migrations.MySQL {
		return []string{"COMMIT", "ROLLBACK", "CREATE TABLE ends_it (n int)"}
	}
	return []string{"COMMIT", "ROLLBACK"}
}

// Promise: if Check returns nil, the mark is locked. So Check rejects a *sql.Tx whose transaction a statement has
// ended.
func TestATransactionThatWasEndedByAStatementIsRefused(t *testing.T) {
	t.Parallel()
	hidden := postgres
	hidden.name = "postgres-other-driver"
	for _, e := range append([]engine{hidden}, enginesOf(t)...) {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
			s.exec(t, "INSERT INTO orders (id) VALUES (7)")
			lease := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			if e.name == hidden.name {
				s.driver = otherdriver.Name
				s.db = s.open(t, s.dsn)
				s.guard = e.guard(s.db)
			}
			for name, check := range map[string]func(tx fence.Transaction) error{
				"Check":    func(tx fence.Transaction) error { return s.guard.Check(lease.Context(), tx) },
				"CheckRow": func(tx fence.Transaction) error { return s.guard.CheckRow(lease.Context(), tx, orderRow, 7) },
			} {
				for _, ending := range s.endings() {
					tx := s.begin(t, sql.LevelDefault)
					require.NoError(t, check(tx), name)
					require.NoError(t, check(tx), name)
					_, err := tx.ExecContext(t.Context(), ending)
					require.NoError(t, err)
					require.ErrorContains(t, check(tx), "no transaction is open", "%s after %s", name, ending)
					_ = tx.Rollback()
					s.exec(t, "DROP TABLE IF EXISTS ends_it")
				}
			}
		})
	}
}

// Promise: CheckPgx rejects a pgx.Tx whose transaction a statement has ended.
func TestAPgxTransactionThatWasEndedByAStatementIsRefused(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
	s.exec(t, "INSERT INTO orders (id) VALUES (7)")
	pool, err := pgxpool.New(t.Context(), s.dsn)
	require.NoError(t, err)
	defer pool.Close()
	guard := fence.Pgx(pool)
	lease := s.lease(t, "r")
	require.NoError(t, guard.Seal(t.Context(), lease))
	for name, check := range map[string]func(tx pgx.Tx) error{
		"CheckPgx":    func(tx pgx.Tx) error { return guard.CheckPgx(lease.Context(), tx) },
		"CheckRowPgx": func(tx pgx.Tx) error { return guard.CheckRowPgx(lease.Context(), tx, orderRow, 7) },
	} {
		for _, ending := range s.endings() {
			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			defer tx.Rollback(t.Context()) //nolint:errcheck // where the test has failed
			require.NoError(t, check(tx), name)
			_, err = tx.Exec(t.Context(), ending)
			require.NoError(t, err)
			require.ErrorContains(t, check(tx), "no transaction is open", "%s after %s", name, ending)
			_ = tx.Rollback(t.Context())
			require.ErrorIs(t, check(tx), pgx.ErrTxClosed)
		}
	}
}

// Promise: with pgx, Check finds out without a round trip whether a transaction is open. A check is one statement,
// in a *sql.Tx, a *sql.Conn and a pgx.Tx.
func TestACheckOnPostgresIsOneStatement(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	config, err := pgxpool.ParseConfig(s.dsn)
	require.NoError(t, err)
	sent := &counter{}
	config.ConnConfig.Tracer = sent
	db := stdlib.OpenDB(*config.ConnConfig)
	defer db.Close()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer pool.Close()
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	one := func(check func() error) {
		t.Helper()
		before := sent.Load()
		require.NoError(t, check())
		require.EqualValues(t, 1, sent.Load()-before)
	}

	guard := fence.Postgres(db)
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	one(func() error { return guard.Check(lease.Context(), tx) })
	require.NoError(t, tx.Commit())
	conn, err := db.Conn(t.Context())
	require.NoError(t, err)
	defer conn.Close()
	_, err = conn.ExecContext(t.Context(), "BEGIN")
	require.NoError(t, err)
	one(func() error { return guard.Check(lease.Context(), conn) })
	_, err = conn.ExecContext(t.Context(), "COMMIT")
	require.NoError(t, err)

	pgxTx, err := pool.Begin(t.Context())
	require.NoError(t, err)
	one(func() error { return fence.Pgx(pool).CheckPgx(lease.Context(), pgxTx) })
	require.NoError(t, pgxTx.Commit(t.Context()))
}

// now() and statement_timestamp() of PostgreSQL do not show whether a transaction is open, although in psql they are
// equal outside a transaction. A driver sends a statement in several messages. The first message begins the
// transaction, and each message has its own statement_timestamp().
func TestTimestampsDoNotTellWhetherATransactionIsOpen(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	require.Eventually(t, func() bool {
		return s.int(t, "SELECT (now() <> statement_timestamp())::int") == 1
	}, waitLimit, time.Microsecond)
}

// Promise: a guard with a pgx pool also accepts a transaction of another driver.
func TestACheckOfAnotherDriversTransaction(t *testing.T) {
	t.Parallel()
	s := postgres.fresh(t)
	pool, err := pgxpool.New(t.Context(), s.dsn)
	require.NoError(t, err)
	defer pool.Close()
	lease := s.lease(t, "r")
	require.NoError(t, s.guard.Seal(t.Context(), lease))
	db, err := sql.Open(otherdriver.Name, s.dsn)
	require.NoError(t, err)
	defer db.Close()
	tx, err := db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // it changes nothing
	require.NoError(t, fence.Pgx(pool).Check(lease.Context(), tx))
	newer := s.lease(t, "r")
	seal := s.startSeal(t, newer)
	require.True(t, seal.waits)
	require.NoError(t, tx.Commit())
	require.NoError(t, seal.wait())
}

// Promise: a session of MySQL or MariaDB without autocommit is in a transaction after its check.
func TestACheckWithoutAutocommit(t *testing.T) {
	t.Parallel()
	for _, e := range servers[1:] {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			old, newer := s.two(t)
			conn, err := s.db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			_, err = conn.ExecContext(t.Context(), "SET autocommit = 0")
			require.NoError(t, err)
			require.NoError(t, s.guard.Check(old.Context(), conn))
			seal := s.startSeal(t, newer)
			require.True(t, seal.waits, "the check has locked the mark")
			_, err = conn.ExecContext(t.Context(), "COMMIT")
			require.NoError(t, err)
			require.NoError(t, seal.wait())
			_, err = conn.ExecContext(t.Context(), "SET autocommit = 1")
			require.NoError(t, err)
		})
	}
}

// Promise: on MySQL and MariaDB, Check returns an error in a branch of an XA transaction, at every isolation level.
// XA PREPARE, or a restart after it, would release the lock on the mark, and XA COMMIT would then commit a stale write.
func TestABranchOfAnXATransactionIsRefused(t *testing.T) {
	t.Parallel()
	for _, e := range enginesOf(t) {
		if e.dialect != migrations.MySQL {
			continue
		}
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
			s.exec(t, "INSERT INTO orders (id) VALUES (7)")
			lease := s.lease(t, "r")
			require.NoError(t, s.guard.Seal(t.Context(), lease))
			conn, err := s.db.Conn(t.Context())
			require.NoError(t, err)
			defer conn.Close()
			run := func(statement string) {
				t.Helper()
				_, err := conn.ExecContext(t.Context(), statement)
				require.NoError(t, err)
			}
			for _, level := range e.levels {
				for name, check := range map[string]func() error{
					"Check":    func() error { return s.guard.Check(lease.Context(), conn) },
					"CheckRow": func() error { return s.guard.CheckRow(lease.Context(), conn, orderRow, 7) },
				} {
					run("SET SESSION TRANSACTION ISOLATION LEVEL " + level.String())
					run("XA START 'of " + e.name + "'")
					require.ErrorContains(t, check(), "XA", "%s at %s", name, level)
					run("XA END 'of " + e.name + "'")
					run("XA ROLLBACK 'of " + e.name + "'")
					run("BEGIN")
					require.NoError(t, check(), "%s at %s", name, level)
					run("COMMIT")
				}
			}
		})
	}
}

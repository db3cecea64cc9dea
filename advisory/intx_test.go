package advisory_test

import (
	"context"
	"database/sql"
	sqldriver "database/sql/driver"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/advisory"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// inTx acquires the lock called name in a new transaction (of database/sql or pgx), and checks that the transaction
// stays usable. The transaction ends when end is called, or at the end of the test.
type inTx func(name string, opts ...advisory.TxOption) (end func(), err error)

// eachTx runs test with transactions of database/sql and of pgx, on direct connections. In a test of "make compat", these
// connections go through a PgBouncer in transaction mode.
func eachTx(t *testing.T, test func(t *testing.T, dsn string, lock inTx)) {
	t.Helper()
	t.Parallel()
	straight := func(tb testing.TB) (string, string) {
		dsn := testenv.Postgres(tb)
		return dsn, dsn
	}
	for name, database := range map[string]func(testing.TB) (clients, direct string){
		"direct": straight, "pgbouncer": testenv.PgBouncer, "pgbouncer_new": testenv.NewPgBouncer,
	} {
		ofSQL := func(t *testing.T, dsn string) inTx {
			db := openDB(t, dsn+"&default_query_exec_mode=exec")
			return func(name string, opts ...advisory.TxOption) (func(), error) {
				tx, err := db.BeginTx(t.Context(), nil)
				require.NoError(t, err)
				err = advisory.InTx(t.Context(), tx, name, opts...)
				var one int
				require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT 1").Scan(&one), "the transaction is still usable")
				end := func() { _ = tx.Commit() }
				t.Cleanup(end)
				return end, err
			}
		}
		ofPgx := func(t *testing.T, dsn string) inTx {
			pool := openPool(t, dsn, conns(16), func(c *pgxpool.Config) { c.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeExec })
			return func(name string, opts ...advisory.TxOption) (func(), error) {
				tx, err := pool.Begin(t.Context())
				require.NoError(t, err)
				err = advisory.InTxPgx(t.Context(), tx, name, opts...)
				_, failed := tx.Exec(t.Context(), "SELECT 1")
				require.NoError(t, failed, "the transaction is still usable")
				end := func() { _ = tx.Rollback(context.Background()) }
				t.Cleanup(end)
				return end, err
			}
		}
		compat := inCompat(t)
		if compat == (name == "direct") {
			continue
		}
		for kind, of := range map[string]func(*testing.T, string) inTx{"sql": ofSQL, "pgx": ofPgx} {
			t.Run(name+"-"+kind, func(t *testing.T) {
				if compat {
					testenv.Compat(t)
				}
				t.Parallel()
				clients, direct := database(t)
				test(t, direct, of(t, clients))
			})
		}
	}
}

// A lock of InTx excludes other transactions and every lease of the name. It ends with the transaction,
// and works through a pooler in transaction mode.
func TestInTx(t *testing.T) {
	eachTx(t, func(t *testing.T, dsn string, lock inTx) {
		b := advisory.New(openPool(t, dsn), advisory.NoToken())
		end, err := lock("a")
		require.NoError(t, err)
		var held *driver.Held
		_, err = lock("a")
		require.ErrorAs(t, err, &held)
		assert.EqualError(t, err, `advisory: lock "a" in the transaction: held`)
		_, err = lock("A")
		require.NoError(t, err)
		_, err = lock("a", advisory.TxNamespace("ns"))
		require.NoError(t, err)
		assert.Contains(t, refused(t, b, "a").Holder, "session ")
		end()
		g := acquire(t, b, "a")
		_, err = lock("a", advisory.TxShared())
		require.ErrorAs(t, err, &held)
		require.NoError(t, b.Release(t.Context(), g))
		_, err = lock("a", advisory.TxShared())
		require.NoError(t, err)
		_, err = lock("a", advisory.TxShared())
		require.NoError(t, err)
		_, err = lock("a")
		require.ErrorAs(t, err, &held)
		share(t, b, "a")
	})
}

// InTx waits at most as long as TxWait says, and gets the lock when the lock becomes free.
func TestInTxWaits(t *testing.T) {
	eachTx(t, func(t *testing.T, _ string, lock inTx) {
		end, err := lock("a")
		require.NoError(t, err)
		began := time.Now()
		_, err = lock("a", advisory.TxWait(50*time.Millisecond))
		var held *driver.Held
		require.ErrorAs(t, err, &held)
		assert.GreaterOrEqual(t, time.Since(began), 50*time.Millisecond)
		done := make(chan error)
		go func() {
			_, err := lock("a", advisory.TxWait(time.Minute))
			done <- err
		}()
		end()
		require.NoError(t, <-done)
	})
}

// When ctx ends, InTx stops waiting. Its error wraps the error of ctx and the refusal.
func TestInTxContextEnds(t *testing.T) {
	t.Parallel()
	db := openDB(t, testenv.Postgres(t))
	begin := func() *sql.Tx {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = tx.Rollback() })
		return tx
	}
	require.NoError(t, advisory.InTx(t.Context(), begin(), "a"))
	for i := range 40 { // some deadlines are between two attempts, and others during an attempt
		tx := begin()
		ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*time.Millisecond)
		require.ErrorIs(t, advisory.InTx(ctx, tx, "a", advisory.TxWait(time.Minute)), context.DeadlineExceeded, "after %d ms", i)
		cancel()
		_ = tx.Rollback()
	}
}

// If ctx ends and the driver therefore closes the connection, the error of InTx still wraps the error of ctx,
// even if the driver's error does not.
func TestInTxContextEndsTheConnection(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	err := advisory.InTxBy(ctx, "a", func(string, int64, ...any) error {
		cancel()
		return sqldriver.ErrBadConn
	})
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, sqldriver.ErrBadConn)
}

// InTx rejects an invalid name and a nil transaction, with an error that says what is wrong.
func TestInTxChecksItsInput(t *testing.T) {
	t.Parallel()
	require.ErrorContains(t, advisory.InTx(t.Context(), nil, "a"), "transaction is nil")
	require.ErrorContains(t, advisory.InTxPgx(t.Context(), nil, "a"), "transaction is nil")
	for want, name := range map[string]string{"0 bytes": "", "NUL": "a\x00b", "UTF-8": "\xff"} {
		require.ErrorContains(t, advisory.InTx(t.Context(), new(sql.Tx), name), want)
	}
}

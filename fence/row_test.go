package fence_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// CheckRow returns nil, an ErrStale or an ErrNoRow. After an error nothing was written. The row's token is that of the
// newest lease that has checked the row. NULL is older than every token.
func TestCheckRowTellsStaleFromNoSuchRow(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint)")
		s.exec(t, "INSERT INTO orders (id, lock_token) VALUES (7, NULL)")
		old, newer := s.lease(t, "order-7"), s.lease(t, "order-7")
		for range 3 {
			require.NoError(t, s.checkRow(t, old, orderRow, 7))
		}
		assert.EqualValues(t, old.Token(), s.int(t, "SELECT lock_token FROM orders"))
		require.NoError(t, s.checkRow(t, newer, orderRow, 7))
		err := s.checkRow(t, old, orderRow, 7)
		var stale *fence.StaleError
		require.ErrorAs(t, err, &stale)
		require.ErrorIs(t, err, fence.ErrStale)
		assert.Equal(t, fence.StaleError{Resource: "orders id=7", Token: old.Token(), Newest: newer.Token()}, *stale)
		assert.EqualValues(t, newer.Token(), s.int(t, "SELECT lock_token FROM orders"))

		err = s.checkRow(t, old, orderRow, 8)
		var none *fence.NoRowError
		require.ErrorAs(t, err, &none)
		require.ErrorIs(t, err, fence.ErrNoRow)
		require.NotErrorIs(t, err, fence.ErrStale)
		assert.Equal(t, fence.NoRowError{Table: "orders", Column: "id", Key: 8}, *none)
		require.ErrorContains(t, err, "orders has none with id = 8")
	})
}

// A key can have any type that a column can have.
func TestCheckRowTakesKeysOfAnyType(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		bytes := map[migrations.Dialect]string{migrations.Postgres: "bytea", migrations.MySQL: "varbinary(16)", migrations.SQLite: "blob"}[s.dialect]
		for name, typ := range map[string]string{"text_keys": "varchar(100)", "byte_keys": bytes} {
			s.exec(t, "CREATE TABLE "+name+" (id "+typ+" PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
		}
		s.exec(t, "INSERT INTO text_keys (id) VALUES ('it''s \"7\"')")
		_, err := s.db.ExecContext(t.Context(), strings.ReplaceAll(s.bind("INSERT INTO byte_keys (id) VALUES (?)"), "::bigint", ""), []byte{0, 255})
		require.NoError(t, err)
		lease := s.lease(t, "r")
		require.NoError(t, s.checkRow(t, lease, fence.Row{Table: "text_keys", Key: "id", Token: "lock_token"}, `it's "7"`))
		err = s.checkRow(t, lease, fence.Row{Table: "text_keys", Key: "id", Token: "lock_token"}, strings.Repeat("x", 1000))
		require.ErrorIs(t, err, fence.ErrNoRow)
		assert.Less(t, len(err.Error()), 300, "the key is shortened")
		require.NoError(t, s.checkRow(t, lease, fence.Row{Table: "byte_keys", Key: "id", Token: "lock_token"}, []byte{0, 255}))
		require.ErrorContains(t, s.checkRow(t, lease, fence.Row{Table: "byte_keys", Key: "id", Token: "lock_token"}, []byte{1, 255}), "0x01ff")
	})
}

// If the name of the table, the key column or the token column is wrong, the error contains that name.
// If the name is not an identifier, CheckRow sends nothing to the database.
func TestCheckRowNamesWhatIsWrong(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0, customer bigint NOT NULL DEFAULT 1, narrow smallint NOT NULL DEFAULT 0)")
		s.exec(t, "INSERT INTO orders (id) VALUES (7)")
		s.exec(t, "INSERT INTO orders (id) VALUES (8)")
		lease := s.lease(t, "r")
		for want, row := range map[string]fence.Row{
			"Row.Table":          {Table: "orders; DROP TABLE orders", Key: "id", Token: "lock_token"},
			"Row.Key":            {Table: "orders", Key: "id, customer", Token: "lock_token"},
			"Row.Token":          {Table: "orders", Key: "id"},
			"missing_table":      {Table: "missing_table", Key: "id", Token: "lock_token"},
			"missing_key":        {Table: "orders", Key: "missing_key", Token: "lock_token"},
			"missing_token":      {Table: "orders", Key: "id", Token: "missing_token"},
			"want a column with": {Table: "orders", Key: "customer", Token: "lock_token"},
		} {
			key := 7
			if row.Key == "customer" {
				key = 1
			}
			err := s.checkRow(t, lease, row, key)
			require.ErrorContains(t, err, want)
			require.NotErrorIs(t, err, fence.ErrNoRow)
			var schema *fence.SchemaError
			require.NotErrorAs(t, err, &schema, "it is not the fence table")
		}
		require.ErrorContains(t, s.guard.CheckRow(lease.Context(), s.db, orderRow, 7), "no transaction is open")
		require.ErrorIs(t, s.guard.CheckRow(t.Context(), s.begin(t, sql.LevelDefault), orderRow, 7), fence.ErrNoLease)
	})
}

// CheckRow returns an error for a lease without a token.
func TestCheckRowNeedsAToken(t *testing.T) {
	t.Parallel()
	s := sqliteWAL.fresh(t)
	s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
	locker, err := rowlock.New(tokenless{memlock.New()})
	require.NoError(t, err)
	defer func() { require.NoError(t, locker.Close()) }()
	lease, err := locker.TryAcquire(t.Context(), "r")
	require.NoError(t, err)
	require.ErrorContains(t, s.checkRow(t, lease, orderRow, 7), "no token")
}

// If the token column is too narrow and truncates tokens, CheckRow returns an error instead of accepting every lease.
func TestCheckRowRefusesAColumnThatCutsTokensOff(t *testing.T) {
	t.Parallel()
	for _, e := range servers[1:] {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.db.SetMaxOpenConns(1)
			s.exec(t, "SET SESSION sql_mode = ''")
			s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token tinyint NOT NULL DEFAULT 0)")
			s.exec(t, "INSERT INTO orders (id) VALUES (7)")
			for range 200 {
				s.lease(t, "r")
			}
			require.ErrorContains(t, s.checkRow(t, s.lease(t, "r"), orderRow, 7), "want a column of type bigint")
		})
	}
}

// Handwritten checks often count changed rows. On MySQL and MariaDB, an UPDATE that writes the same token again counts
// as no changed row. So such a check rejects the newest holder. CheckRow accepts that holder.
func TestCountingChangedRowsRefusesTheNewestHolder(t *testing.T) {
	each(t, func(t *testing.T, s *store) {
		s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint NOT NULL DEFAULT 0)")
		s.exec(t, "INSERT INTO orders (id) VALUES (7)")
		lease := s.lease(t, "r")
		for write := range 2 {
			result, err := s.db.ExecContext(t.Context(), s.bind("UPDATE orders SET lock_token = ? WHERE id = 7 AND lock_token <= ?"), int64(lease.Token()), int64(lease.Token()))
			require.NoError(t, err)
			n, err := result.RowsAffected()
			require.NoError(t, err)
			if write > 0 && s.dialect == migrations.MySQL {
				assert.Zero(t, n, "it looks like a rejection")
			} else {
				assert.EqualValues(t, 1, n)
			}
			require.NoError(t, s.checkRow(t, lease, orderRow, 7))
		}
	})
}

// If the transaction's snapshot is older than the predecessor's last write, CheckRow returns an ErrRetry.
// MySQL does not detect that, and the next read is out of date. So CheckRow must be the first statement.
func TestCheckRowBehindAnOldSnapshot(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.withOrders(t)
			for _, level := range []sql.IsolationLevel{sql.LevelRepeatableRead, sql.LevelSerializable} {
				old, newer := s.order(t)
				tx := s.begin(t, level)
				var n int64
				require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM elsewhere").Scan(&n))
				require.NoError(t, s.successor(t, s.db, old, sql.LevelDefault, 1), "it is the predecessor, which writes once more")
				err := s.guard.CheckRow(newer.Context(), tx, orderRow, 7)
				if s.dialect == migrations.Postgres {
					require.ErrorIs(t, err, fence.ErrRetry)
					require.NoError(t, tx.Rollback())
					continue
				}
				require.NoError(t, err)
				require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM ledger").Scan(&n))
				if level == sql.LevelSerializable { // at this level each read takes a lock
					assert.EqualValues(t, 1, n)
				} else {
					assert.Zero(t, n, "it misses the last write")
				}
				require.NoError(t, tx.Rollback())
			}
		})
	}
}

// CheckRowPgx checks a row in a transaction of pgx, as CheckRow does. The server ends the transaction if it idles for
// longer than its lease is trusted.
func TestCheckRowPgx(t *testing.T) {
	t.Parallel()
	s := postgres.withOrders(t)
	old, newer := s.order(t)
	pool, err := pgxpool.New(t.Context(), s.dsn)
	require.NoError(t, err)
	defer pool.Close()
	guard := fence.Pgx(pool)
	for _, step := range []struct {
		lease *rowlock.Lease
		key   int
		want  error
	}{{old, 7, nil}, {newer, 7, nil}, {old, 7, fence.ErrStale}, {old, 8, fence.ErrNoRow}} {
		tx, err := pool.Begin(t.Context())
		require.NoError(t, err)
		require.ErrorIs(t, guard.CheckRowPgx(step.lease.Context(), tx, orderRow, step.key), step.want)
		if step.want == nil {
			var limit string
			require.NoError(t, tx.QueryRow(t.Context(), "SELECT current_setting('idle_in_transaction_session_timeout')").Scan(&limit))
			assert.NotEqual(t, "0", limit)
		}
		require.NoError(t, tx.Commit(t.Context()))
	}
	require.ErrorContains(t, guard.CheckRowPgx(newer.Context(), nil, orderRow, 7), "no transaction is open")
	require.ErrorContains(t, fence.MySQL(s.db).CheckRowPgx(newer.Context(), nil, orderRow, 7), "needs a guard for Postgres")
}

package mysql

import (
	"database/sql"
	"runtime"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/sqllock/internal/sqlbase"
)

// A refused acquire changes no row, at every isolation level. The server counts the rows that a transaction has
// changed, and the count stays zero.
func TestMySQLRefusedAcquireWritesNothing(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		mustAcquire(t, f, request("a"))
		s, err := f.Backend.server(limited(t))
		require.NoError(t, err)
		for _, level := range isolations {
			tx := begin(t, f.open(t, f.isolation(level)))
			done, err := sqlbase.On(tx).Exec(limited(t), s.sql["acquire"], f.acquireArgs(s, request("a"), f.meta.Load().metaRow)...)
			require.NoError(t, err)
			require.Zero(t, done.LastID)
			_, err = tx.ExecContext(limited(t), "UPDATE rowlock_lease SET note = ?", level)
			require.NoError(t, err)
			assert.EqualValues(t, 1, rowsModified(t, tx), "%s: the update of one row, and nothing else", level)
			require.NoError(t, tx.Rollback())
		}
	})
}

// rowsModified returns how many rows the transaction tx has changed. It reads a system table until tx appears in the
// table. The server caches that table, and updates the cache only if no session has read it for 100 ms.
func rowsModified(t *testing.T, tx *sql.Tx) (n int64) {
	t.Helper()
	require.Eventually(t, func() bool {
		err := tx.QueryRowContext(limited(t), `SELECT COALESCE(SUM(trx_rows_modified), 0)
			FROM information_schema.INNODB_TRX WHERE trx_mysql_thread_id = CONNECTION_ID()`).Scan(&n)
		return err == nil && n > 0
	}, 10*time.Second, 200*time.Millisecond)
	return n
}

// When a backend is garbage-collected, its prepared statements are closed.
func TestMySQLStatementsEndWithTheirBackend(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		q := usedOnce(t, f)
		require.Eventually(t, func() bool {
			runtime.GC()
			q.mu.Lock()
			defer q.mu.Unlock()
			return len(q.byText) == 0
		}, 10*time.Second, 10*time.Millisecond)
		mustAcquire(t, f, request("b"))
	})
}

func usedOnce(t *testing.T, f *fixture) *preparedQuerier {
	t.Helper()
	b := on(f.db)
	mustAcquire(t, b, request("a"))
	q := b.q
	q.mu.Lock()
	defer q.mu.Unlock()
	require.NotEmpty(t, q.byText)
	return q
}

// Keys that differ in one byte are different locks. Keys with the same bytes, divided differently between namespace
// and name, are different locks too.
func TestMySQLNamesAreExact(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		long := make([]byte, driver.MaxName)
		for i := range long {
			long[i] = 'x'
		}
		keys := []driver.Key{
			{Name: "a"}, {Name: "A"}, {Name: "a "}, {Name: " a"}, {Name: "á"}, {Name: "a\u0301"}, {Name: "ß"}, {Name: "ss"},
			{Name: "🔒"}, {Name: "🔓"}, {Name: "\\"}, {Name: "\\\\"}, {Name: "%"}, {Name: "'"}, {Name: "\""}, {Name: "\x1a\n"},
			{Name: string(long)}, {Name: string(long[1:])}, {Name: string(long[:driver.MaxName-4]) + "🔒"},
			{Namespace: "a", Name: "a"}, {Namespace: "a/", Name: "a"}, {Namespace: "a", Name: "/a"}, {Namespace: "A", Name: "a"},
			{Namespace: string(long[:driver.MaxNamespace]), Name: string(long)},
		}
		b := on(f.open(t, map[string]string{"charset": "latin1"}))
		grants := make([]driver.Grant, len(keys))
		for i, key := range keys {
			r := request("")
			r.Key = key
			grants[i] = mustAcquire(t, []*Backend{f.Backend, b}[i%2], r)
		}
		got, err := f.Renew(limited(t), grants)
		require.NoError(t, err)
		for i, outcome := range got {
			assert.Equal(t, driver.Renewed, outcome, "%q", keys[i])
		}
		list, err := b.List(limited(t), "", true)
		require.NoError(t, err)
		listed := make([]driver.Key, len(list))
		for i, status := range list {
			listed[i] = status.Key
		}
		assert.ElementsMatch(t, keys, listed)
	})
}

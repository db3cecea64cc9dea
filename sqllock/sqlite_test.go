package sqllock_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// An acquire of a held lock only reads. It needs no write lock, and is refused at once even while another connection
// writes.
func TestSQLiteLooksBeforeItWrites(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	acquire(t, b, request("job"))
	s.begin(t)
	h := refused(t, b, request("job"))
	assert.Equal(t, driver.Leased, h.Reason)
}

// While another writer has locked the file, every call returns when its context ends, whatever the busy timeout of
// the connection is. An acquire is refused as contended.
func TestSQLiteCallsEndWithTheirContextWhileTheFileIsBusy(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	g := acquire(t, b, request("job"))
	tx := s.begin(t)
	_, err := b.Acquire(t.Context(), request("another"))
	require.True(t, isHeld(err, driver.Contended), "%v", err)
	for what, call := range map[string]func(context.Context) error{
		"acquire": func(ctx context.Context) error { _, err := b.Acquire(ctx, request("another")); return err },
		"renew":   func(ctx context.Context) error { _, err := b.Renew(ctx, []driver.Grant{g}); return err },
		"release": func(ctx context.Context) error { return b.Release(ctx, g) },
		"prune":   func(ctx context.Context) error { _, err := b.Prune(ctx, 0); return err },
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		err := call(ctx)
		cancel()
		require.Error(t, err, what)
		assert.True(t, driver.IsNotApplied(err) || isHeld(err, driver.Contended) || errors.Is(err, context.DeadlineExceeded), "%s: %v", what, err)
		assert.Less(t, time.Since(start), 5*time.Second, what)
	}
	require.NoError(t, tx.Rollback())
	require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
}

// The caller's connections keep their configured busy timeout.
func TestSQLiteLeavesTheBusyTimeoutAlone(t *testing.T) {
	s := newSQLiteTest(t)
	s.raw.SetMaxOpenConns(1)
	b := sqllock.SQLite(s.raw)
	g := acquire(t, b, request("job"))
	renew(t, b, g)
	require.NoError(t, b.Release(t.Context(), g))
	_, err := b.Prune(t.Context(), 0)
	require.NoError(t, err)
	tx := s.begin(t)
	require.NoError(t, b.InTx(t.Context(), tx, "job"))
	require.NoError(t, tx.Commit())
	assert.EqualValues(t, 5000, s.int(t, "PRAGMA busy_timeout"))
}

// A transaction that has read before the file changed cannot write any longer. InTx returns an error that says so,
// and that is not *driver.Held.
func TestSQLiteInTxBehindAReadIsToldToRunAgain(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	require.NoError(t, b.Release(t.Context(), acquire(t, b, request("job"))))
	tx, err := openSQLite(t, fileOf(t, s)).BeginTx(t.Context(), nil) // a deferred transaction
	require.NoError(t, err)
	var n int
	require.NoError(t, tx.QueryRowContext(t.Context(), "SELECT count(*) FROM rowlock_lease").Scan(&n))
	require.NoError(t, b.Release(t.Context(), acquire(t, b, request("job"))))
	err = b.InTx(t.Context(), tx, "job", sqllock.TxWait(time.Minute))
	require.ErrorContains(t, err, "IMMEDIATE")
	require.True(t, driver.IsNotApplied(err))
	require.NoError(t, tx.Rollback())
}

// In a deferred transaction that has read nothing, InTx with TxWait acquires a free lock, even while another writer
// commits changes to the file.
func TestSQLiteInTxInADeferredTransactionUnderAWriter(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	file := fileOf(t, s) + "?_pragma=busy_timeout(60000)"
	writer := openSQLite(t, file)
	_, err := writer.ExecContext(t.Context(), "CREATE TABLE data (n INTEGER)")
	require.NoError(t, err)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			began := time.Now()
			_, _ = writer.ExecContext(ctx, "INSERT INTO data VALUES (1)")
			select { // pauses, because SQLite has no queue for writers, and a writer without pauses would exclude all others
			case <-time.After(time.Since(began) + time.Millisecond):
			case <-ctx.Done():
			}
		}
	}()
	defer func() { stop(); <-done }()
	db := openSQLite(t, file) // transactions of this pool are deferred, which is the default
	for i := range 300 {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		err = b.InTx(t.Context(), tx, fmt.Sprintf("job %d", i%3), sqllock.TxWait(time.Minute))
		require.NoError(t, err, "transaction %d", i)
		require.NoError(t, tx.Commit())
	}
}

// InTx with TxWait in a deferred transaction acquires the lock after the holder has released it.
func TestSQLiteInTxWaitsInADeferredTransaction(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	g := acquire(t, b, request("job"))
	tx, err := openSQLite(t, fileOf(t, s)).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // after a commit there is nothing to roll back
	require.True(t, isHeld(b.InTx(t.Context(), tx, "job"), driver.Leased))
	require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g), "the refused transaction keeps no holder from renewing")
	require.NoError(t, b.Release(t.Context(), g))
	require.NoError(t, b.InTx(t.Context(), tx, "job", sqllock.TxWait(10*time.Second)))
	require.NoError(t, tx.Commit())
}

// If another transaction has the file's write lock, InTx is refused. The refusal names no holder and no token, because
// both are unknown.
func TestSQLiteInTxRefusedByAnotherTransaction(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	require.NoError(t, b.InTx(t.Context(), s.begin(t), "job"))
	tx, err := openSQLite(t, fileOf(t, s)).BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer tx.Rollback() //nolint:errcheck // the test ends here
	err = b.InTx(t.Context(), tx, "job")
	require.EqualError(t, err, `sqllock: lock "job" in the transaction: locked by another transaction`)
}

// If the file is read-only, the error says so and is permanent.
func TestSQLiteThatIsReadOnlyIsNoPlaceForLocks(t *testing.T) {
	s := newSQLiteTest(t)
	acquire(t, s.open(), request("job"))
	b := sqllock.SQLite(openSQLite(t, fileOf(t, s)+"?mode=ro"))
	assert.Equal(t, driver.Leased, refused(t, b, request("job")).Reason, "reading is possible")
	_, err := b.Acquire(t.Context(), request("another"))
	require.True(t, driver.IsPermanent(err), "%v", err)
	require.ErrorContains(t, err, "cannot be written")

	missing := sqllock.SQLite(openSQLite(t, "file:"+filepath.Join(t.TempDir(), "no", "such.db")))
	_, err = missing.Acquire(t.Context(), request("job"))
	require.True(t, driver.IsNotApplied(err), "%v", err)
}

// A renewal finds each grant of a batch by the primary key.
func TestSQLiteRenewsByPrimaryKey(t *testing.T) {
	s := newSQLiteTest(t)
	s.exec(t, `INSERT INTO rowlock_lease
		WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000)
		SELECT '', 'job ' || i, 1, NULL, '', '', 0, 0, 0, NULL, NULL, NULL, NULL, NULL FROM n`)
	text, err := os.ReadFile("internal/sqlite/sql/renew.sql")
	require.NoError(t, err)
	rows, err := s.raw.QueryContext(t.Context(), "EXPLAIN QUERY PLAN "+string(text), "[]")
	require.NoError(t, err)
	defer rows.Close()
	var plan []string
	for rows.Next() {
		var id, parent, unused int
		var detail string
		require.NoError(t, rows.Scan(&id, &parent, &unused, &detail))
		plan = append(plan, detail)
	}
	require.NoError(t, rows.Err())
	assert.Contains(t, strings.Join(plan, "\n"), "SEARCH l USING PRIMARY KEY (namespace=? AND name=?)")
	assert.NotContains(t, strings.Join(plan, "\n"), "SCAN l")
}

// The table may be in an attached database.
func TestSQLiteTableInAnAttachedDatabase(t *testing.T) {
	s := newSQLiteTest(t)
	s.raw.SetMaxOpenConns(1) // ATTACH applies to one connection only
	s.exec(t, fmt.Sprintf("ATTACH '%s' AS ops", filepath.Join(t.TempDir(), "ops.db")))
	require.ErrorContains(t, migrations.Up(t.Context(), s.raw, migrations.SQLite, migrations.Table("none.Jobs")), "create it first")
	require.NoError(t, migrations.Up(t.Context(), s.raw, migrations.SQLite, migrations.Table("OPS.Jobs")), "SQLite knows no case of names")
	require.NoError(t, migrations.Up(t.Context(), s.raw, migrations.SQLite, migrations.Table("ops.Jobs")))
	b := sqllock.SQLite(s.raw, sqllock.Table("ops.Jobs"))
	g := acquire(t, b, request("job"))
	require.Equal(t, []driver.Outcome{driver.Renewed}, renew(t, b, g))
	require.NoError(t, b.Release(t.Context(), g))
	tx := s.begin(t)
	require.NoError(t, b.InTx(t.Context(), tx, "job"))
	require.NoError(t, tx.Commit())
	n, err := b.Prune(t.Context(), 0)
	require.NoError(t, err)
	assert.Equal(t, 1, n)
	s.exec(t, "ALTER TABLE ops.Jobs DROP COLUMN note")
	_, err = b.Acquire(t.Context(), request("job"))
	outdated(t, "ops.Jobs", map[string]error{"acquire": err})
}

// If the row of a lock cannot be read, List returns an error instead of a list without that lock.
func TestSQLiteARowThatCannotBeReadIsAnError(t *testing.T) {
	s := newSQLiteTest(t)
	b := s.open()
	acquire(t, b, request("job"))
	s.exec(t, "UPDATE rowlock_lease SET token = 'many'")
	_, err := b.List(t.Context(), "", true)
	require.ErrorContains(t, err, "many")
}

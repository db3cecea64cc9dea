package goose_test

import (
	"database/sql"
	"path/filepath"
	"testing"
	"testing/fstest"

	upstream "github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/examples/goose"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Five processes migrate one database at once. Each migration is applied once, and no process fails.
func TestAFleetMigratesOnce(t *testing.T) {
	folder := fstest.MapFS{
		"00001_shop.sql":   {Data: []byte("-- +goose Up\nCREATE TABLE shop (id int);\n")},
		"00002_orders.sql": {Data: []byte("-- +goose Up\nCREATE TABLE orders (id int);\nINSERT INTO shop VALUES (1);\n")},
	}
	dir := t.TempDir()
	open := func(name string) *sql.DB {
		db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, name)+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(30000)")
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, db.Close()) })
		return db
	}
	require.NoError(t, migrations.Up(t.Context(), open("locks.db"), migrations.SQLite))
	type end struct {
		applied int
		err     error
	}
	ends := make(chan end)
	for range 5 {
		db, locks := open("shop.db"), open("locks.db")
		locker, err := rowlock.New(sqllock.SQLite(locks))
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, locker.Close()) })
		go func() {
			n, err := goose.Up(t.Context(), upstream.DialectSQLite3, db, folder, locker)
			ends <- end{n, err}
		}()
	}
	total := 0
	for range 5 {
		e := <-ends
		assert.NoError(t, e.err)
		total += e.applied
	}
	assert.Equal(t, 2, total)
}

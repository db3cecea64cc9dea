package redlock_test

import (
	"context"
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redlock"
	"github.com/rowlock/rowlock/migrations"
)

// A claim protects rows of a SQL database while a Redlock is held. The database makes the tokens, so even two
// concurrent holders of the lock cannot overwrite each other's changes.
func ExampleNew() {
	ctx := context.Background()
	nodes, closeNodes := exampleNodes(ctx) // three *redis.Client
	defer closeNodes()
	if nodes == nil { // without servers, only the expected output is printed
		fmt.Println("written: <nil>")
		return
	}
	db, closeDB := exampleDB(ctx)
	defer closeDB()

	locks := redlock.New(nodes, redlock.NodeTimeout(time.Second))
	defer locks.Close()
	guard := fence.SQLite(db)
	locker, err := rowlock.New(locks, rowlock.Fenced(guard.Claimer()))
	if err != nil {
		panic(err)
	}
	defer locker.Close()

	err = locker.Do(ctx, "nightly", func(ctx context.Context, _ *rowlock.Lease) error {
		return guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO report VALUES ('of tonight')")
			return err
		})
	})
	fmt.Println("written:", err)
	// Output: written: <nil>
}

// If all nodes lose the key of a lock but keep their records, the lock is granted twice. After the newer holder has
// claimed the rows, the database rejects writes of the older holder.
func TestClaim(t *testing.T) {
	t.Parallel()
	ctx := context.Background()
	db, closeDB := exampleDB(ctx)
	t.Cleanup(closeDB)
	guard := fence.SQLite(db)
	write := func(lease *rowlock.Lease) error {
		return guard.Tx(lease.Context(), func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO report VALUES (?)", lease.Holder())
			return err
		})
	}
	f := newFleet(t, 3)
	hold := func(holder string) *rowlock.Lease {
		b, _ := f.client(t, steadily)
		lease, err := redistest.LockerOn(t, b, rowlock.Fenced(guard.Claimer()), rowlock.Holder(holder)).Acquire(ctx, "x")
		require.NoError(t, err)
		b.Settle()
		return lease
	}
	first := hold("first")
	require.NoError(t, write(first))
	for _, c := range f.raw {
		require.NoError(t, c.Del(ctx, lockX).Err())
	}
	second := hold("second")
	require.NoError(t, write(second))
	require.NoError(t, first.Err(), "the first holder does not know of its loss")
	require.ErrorIs(t, write(first), fence.ErrStale)
	require.NoError(t, write(second))
	var lines int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM report").Scan(&lines))
	assert.Equal(t, 3, lines)
}

// exampleNodes returns three servers that vote without a quarantine. It returns nil if Redis is not available.
func exampleNodes(ctx context.Context) ([]*redis.Client, func()) {
	if os.Getenv("ROWLOCK_TEST_REDIS") == "" {
		return nil, func() {}
	}
	var ends []func()
	var nodes []*redis.Client
	for range 3 {
		s, giveBack, err := redistest.Borrow(ctx, testserver.Redis)
		if err != nil {
			panic(err)
		}
		c := redis.NewClient(&redis.Options{Addr: s.Addr})
		ends = append(ends, func() { _ = c.Close(); giveBack() })
		if err := giveVote(ctx, c); err != nil {
			panic(err)
		}
		nodes = append(nodes, c)
	}
	return nodes, func() {
		for _, end := range ends {
			end()
		}
	}
}

// exampleDB opens a database with the tables of package fence and one table of the example.
func exampleDB(ctx context.Context) (*sql.DB, func()) {
	dir, err := os.MkdirTemp("", "rowlock")
	if err != nil {
		panic(err)
	}
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "app.db")+"?_pragma=journal_mode(WAL)&_pragma=busy_timeout(5000)&_txlock=immediate")
	if err != nil {
		panic(err)
	}
	if err := migrations.Up(ctx, db, migrations.SQLite); err != nil {
		panic(err)
	}
	if _, err := db.ExecContext(ctx, "CREATE TABLE report (line TEXT)"); err != nil {
		panic(err)
	}
	return db, func() {
		_ = db.Close()
		_ = os.RemoveAll(dir)
	}
}

package migrations_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// migrateVariable is an environment variable. If it is set, this test binary calls Up and exits. The value contains the
// dialect, the driver and the DSN.
const migrateVariable = "ROWLOCK_TEST_MIGRATE"

func TestMain(m *testing.M) {
	runFleetProcess()
	if job := os.Getenv(migrateVariable); job != "" {
		if err := migrate(strings.SplitN(job, " ", 3)); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	leaks.Main(m)
}

func migrate(job []string) (err error) {
	var d migrations.Dialect
	if err := d.UnmarshalText([]byte(job[0])); err != nil {
		return err
	}
	db, err := sql.Open(job[1], job[2])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	return migrations.Up(ctx, db, d)
}

// target describes an empty database and a pool of connections to the database.
type target struct {
	dialect     migrations.Dialect
	driver, dsn string
	db          *sql.DB
}

// eachDatabase runs test on an empty database of every kind, in parallel.
func eachDatabase(t *testing.T, test func(t *testing.T, on target)) {
	t.Helper()
	t.Parallel()
	sqlite := func(parameters string) func(testing.TB) string {
		return func(t testing.TB) string {
			path := url.URL{Path: filepath.Join(t.TempDir(), "locks.db")}
			return "file:" + path.EscapedPath() + parameters
		}
	}
	for name, kind := range map[string]struct {
		dialect migrations.Dialect
		driver  string
		dsn     func(testing.TB) string
	}{
		"postgres":    {migrations.Postgres, "pgx", testenv.Postgres},
		"mysql":       {migrations.MySQL, "mysql", testenv.MySQL},
		"mariadb":     {migrations.MySQL, "mysql", testenv.MariaDB},
		"sqlite":      {migrations.SQLite, "sqlite", sqlite("?_pragma=journal_mode(WAL)")},
		"sqlite-bare": {migrations.SQLite, "sqlite", sqlite("")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dsn := kind.dsn(t)
			db, err := sql.Open(kind.driver, dsn)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			test(t, target{kind.dialect, kind.driver, dsn, db})
		})
	}
}

func (on target) count(t *testing.T, query string) int {
	t.Helper()
	var n int
	require.NoError(t, on.db.QueryRowContext(t.Context(), query).Scan(&n), query)
	return n
}

// shipped returns the file names of the dialect's migrations in this repository.
func shipped(t *testing.T, d migrations.Dialect) []string {
	t.Helper()
	paths, err := filepath.Glob(d.String() + "/*.sql")
	require.NoError(t, err)
	for i := range paths {
		paths[i] = filepath.Base(paths[i])
	}
	return paths
}

// Up, Down and Status can be called in any order and repeatedly, even if the pool has only one connection.
func TestUpAndDownAgain(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		on.db.SetMaxOpenConns(1)
		ctx := t.Context()
		status := func() []migrations.MigrationStatus {
			t.Helper()
			list, err := migrations.Status(ctx, on.db, on.dialect)
			require.NoError(t, err)
			require.Len(t, list, len(shipped(t, on.dialect)))
			return list
		}
		for i, name := range shipped(t, on.dialect) {
			number, err := goose.NumericComponent(name)
			require.NoError(t, err)
			assert.Equal(t, migrations.MigrationStatus{Version: number, Name: name}, status()[i])
		}
		require.NoError(t, migrations.Down(ctx, on.db, on.dialect), "there is nothing to roll back")
		for range 2 {
			for range 2 {
				require.NoError(t, migrations.Up(ctx, on.db, on.dialect))
				for _, m := range status() {
					assert.True(t, m.Applied, m.Name)
					assert.WithinDuration(t, time.Now(), m.AppliedAt, time.Hour, m.Name)
				}
				assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM rowlock_lease_meta WHERE id = 1"))
				assert.Zero(t, on.count(t, "SELECT count(*) FROM rowlock_lease"))
				assert.Zero(t, on.count(t, "SELECT count(*) FROM rowlock_lease_fence"))
				assert.Zero(t, on.count(t, "SELECT count(*) FROM rowlock_lease_outcome"))
			}
			for last := len(shipped(t, on.dialect)) - 1; last > 0; last-- {
				require.NoError(t, migrations.Down(ctx, on.db, on.dialect))
				assert.False(t, status()[last].Applied)
				assert.True(t, status()[last-1].Applied, "one step at a time")
			}
			assert.Zero(t, on.count(t, "SELECT count(*) FROM rowlock_lease"))
			for range 2 {
				assert.False(t, status()[1].Applied)
				_, err := on.db.ExecContext(ctx, "SELECT count(*) FROM rowlock_lease_fence")
				require.Error(t, err)
				require.NoError(t, migrations.Down(ctx, on.db, on.dialect))
				assert.False(t, status()[0].Applied)
				_, err = on.db.ExecContext(ctx, "SELECT count(*) FROM rowlock_lease")
				require.Error(t, err)
			}
		}
	})
}

// If a database lacks the newest migration, Up applies that migration and keeps the locks in the lease table.
func TestUpgradeFromTheFirstVersion(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		ctx := t.Context()
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect))
		require.NoError(t, migrations.Down(ctx, on.db, on.dialect))
		_, err := on.db.ExecContext(ctx, `INSERT INTO rowlock_lease (namespace, name, token, holder, note, acquired_at, expires_at, held_until)
			VALUES ('', 'job', 7, '', '', '2026-01-01', '2026-01-01', '2026-01-01')`)
		require.NoError(t, err)
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect))
		assert.Equal(t, 7, on.count(t, "SELECT token FROM rowlock_lease"))
		assert.Zero(t, on.count(t, "SELECT count(*) FROM rowlock_lease_fence"))
	})
}

// If twenty processes migrate at the same time, no process fails, and each migration is applied once.
func TestTwentyProcessesMigrateAtOnce(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		var processes sync.WaitGroup
		for range 20 {
			processes.Go(func() {
				self := exec.CommandContext(t.Context(), os.Args[0])
				self.Env = append(os.Environ(), migrateVariable+"="+on.dialect.String()+" "+on.driver+" "+on.dsn)
				out, err := self.CombinedOutput()
				assert.NoError(t, err, "%s", out)
				assert.Empty(t, string(out), "silent")
			})
		}
		processes.Wait()
		assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM rowlock_lease_meta"))
		assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM rowlock_lease_version WHERE version_id = 1"))
		assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM rowlock_lease_version WHERE version_id = 0"))
	})
}

// If ctx ends while Up waits for another process's migration, Up returns, and leaves no lock or session state behind.
func TestWaitingForAMigrationEndsWithTheContext(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		if on.dialect == migrations.SQLite {
			return // SQLite has no lock for migrations
		}
		first, second := on.holdLock(t), t.Context()
		for after := time.Millisecond; after < 150*time.Millisecond; after += after/4 + time.Millisecond {
			// The context ends at different points: before a statement, while the server runs a statement,
			// or between two polls.
			ctx, cancel := context.WithTimeout(second, after)
			require.ErrorIs(t, migrations.Up(ctx, on.db, on.dialect), context.DeadlineExceeded, "after %s", after)
			cancel()
		}
		first()
		require.NoError(t, migrations.Up(second, on.db, on.dialect))
	})
}

// holdLock acquires the lock for migrations in a separate session.
func (on target) holdLock(t *testing.T) (release func()) {
	t.Helper()
	conn, err := on.db.Conn(t.Context())
	require.NoError(t, err)
	folder := filepath.Join("version", on.dialect.String())
	key := any("rowlock_lease")
	if on.dialect == migrations.Postgres {
		key = int64(postgresKey) // the same 64 bits as a signed number
	}
	run := func(verb string) {
		text, err := os.ReadFile(filepath.Join(folder, verb+".sql"))
		require.NoError(t, err)
		var done int
		require.NoError(t, conn.QueryRowContext(t.Context(), string(text), key).Scan(&done))
		require.Equal(t, 1, done)
	}
	run("lock")
	return func() {
		run("unlock")
		require.NoError(t, conn.Close())
	}
}

// postgresKey must not change: the package comment documents how the key is computed, so other tools may use the same
// lock.
var postgresKey uint64 = 0xccd32e744a818de9

// A lease table may have any name in upper or lower case. Each lease table has its own version table.
func TestUpWithATableOfAnyName(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		for _, name := range []string{"Jobs", "SELECT_", "jobs_2"} {
			require.NoError(t, migrations.Up(t.Context(), on.db, on.dialect, migrations.Table(name)))
			quoted := `"` + name + `_version"`
			if on.dialect == migrations.MySQL {
				quoted = "`" + name + "_version`"
			}
			assert.Equal(t, len(shipped(t, on.dialect))+1, on.count(t, "SELECT count(*) FROM "+quoted), "with goose's own first row")
			list, err := migrations.Status(t.Context(), on.db, on.dialect, migrations.Table(name))
			require.NoError(t, err)
			assert.True(t, list[0].Applied)
		}
		list, err := migrations.Status(t.Context(), on.db, on.dialect)
		require.NoError(t, err)
		assert.False(t, list[0].Applied, "another table")
		err = migrations.Up(t.Context(), on.db, on.dialect, migrations.Table("nowhere.jobs"))
		require.ErrorContains(t, err, `schema "nowhere" does not exist: create it first`)
	})
}

// ownProvider returns a goose provider as a user configures it in a program.
func ownProvider(t *testing.T, on target, files fs.FS) *goose.Provider {
	t.Helper()
	dialect := map[migrations.Dialect]goose.Dialect{
		migrations.Postgres: goose.DialectPostgres, migrations.MySQL: goose.DialectMySQL, migrations.SQLite: goose.DialectSQLite3,
	}[on.dialect]
	if on.dialect == migrations.MySQL {
		db, err := sql.Open(on.driver, on.dsn+map[bool]string{true: "&", false: "?"}[strings.Contains(on.dsn, "?")]+"parseTime=true")
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		on.db = db
	}
	p, err := goose.NewProvider(dialect, on.db, files)
	require.NoError(t, err)
	return p
}

// A user's own goose provider can apply the files of FS and record them in the user's version table.
func TestFSIsAFolderForGoose(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		fsys, err := migrations.FS(on.dialect, migrations.Table("jobs"))
		require.NoError(t, err)
		p := ownProvider(t, on, fsys)
		_, err = p.Up(t.Context())
		require.NoError(t, err)
		assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM jobs_meta"))
		_, err = p.DownTo(t.Context(), 0)
		require.NoError(t, err)
		files, err := fs.Glob(fsys, "*.sql")
		require.NoError(t, err)
		assert.Equal(t, shipped(t, on.dialect), files)
	})
}

// The script from SQL is plain SQL: every statement runs, and the script contains no goose annotations.
func TestSQLIsAPlainScript(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		script, err := migrations.SQL(on.dialect, migrations.Table("jobs"))
		require.NoError(t, err)
		assert.NotContains(t, script, "goose")
		assert.NotContains(t, script, "rowlock_lease")
		assert.NotContains(t, strings.ToUpper(script), "DELIMITER")
		withoutComments := regexp.MustCompile(`--[^\n]*`).ReplaceAllString(script, "")
		statements := strings.Split(withoutComments, ";")
		if on.dialect == migrations.Postgres { // splitting at semicolons would break the bodies of the functions
			statements = nil
			_, err := on.db.ExecContext(t.Context(), script, pgx.QueryExecModeSimpleProtocol)
			require.NoError(t, err)
			assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM pg_proc WHERE proname = 'jobs_fence_check'"))
		}
		for _, statement := range statements {
			if strings.TrimSpace(statement) != "" {
				_, err := on.db.ExecContext(t.Context(), statement)
				require.NoError(t, err, statement)
			}
		}
		assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM jobs_meta"))
	})
}

// Functions return an error that names the invalid dialect, the invalid table name or the nil database handle.
func TestBadOptionsAreRefused(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	require.ErrorContains(t, migrations.Up(ctx, nil, 0), "Dialect(0) is no dialect")
	require.ErrorContains(t, migrations.Up(ctx, nil, migrations.SQLite), "nil")
	_, err := migrations.Status(ctx, nil, migrations.SQLite)
	require.ErrorContains(t, err, "nil")
	require.ErrorContains(t, migrations.Down(ctx, nil, migrations.SQLite, migrations.Table("a b")), `table "a b"`)
	_, err = migrations.FS(9)
	require.ErrorContains(t, err, "Dialect(9)")
	_, err = migrations.SQL(migrations.MySQL, migrations.Table("a;"))
	require.ErrorContains(t, err, `table "a;"`)
}

// MarshalText writes a dialect as text, and UnmarshalText reads that text.
func TestDialectAsText(t *testing.T) {
	t.Parallel()
	for _, d := range []migrations.Dialect{migrations.Postgres, migrations.MySQL, migrations.SQLite} {
		text, err := d.MarshalText()
		require.NoError(t, err)
		var back migrations.Dialect
		require.NoError(t, back.UnmarshalText([]byte(strings.ToUpper(string(text)))))
		assert.Equal(t, d, back)
	}
	var d migrations.Dialect
	require.NoError(t, d.UnmarshalText([]byte("MariaDB")))
	assert.Equal(t, migrations.MySQL, d)
	require.ErrorContains(t, d.UnmarshalText([]byte("oracle")), "oracle")
	_, err := migrations.Dialect(0).MarshalText()
	require.Error(t, err)
}

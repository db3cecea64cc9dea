//go:build unix

package main

import (
	"bufio"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/testenv"
)

// childVariable contains the driver and the data source of the database to which the child writes.
const childVariable = "TEST_CHILD"

var guards = map[string]func(*sql.DB, ...fence.Option) *fence.Guard{"pgx": fence.Postgres, "mysql": fence.MySQL, "sqlite": fence.SQLite}

func init() { programs["child"] = child }

// child is a Go job under "rowlock run". This test binary runs it under the name child. It leaves its process group, so
// that it outlives a rowlock that is killed. It writes once, and makes the file "ended" when its context ends. Then it
// executes the commands that it reads from stdin, and writes the outcome of each.
func child() error {
	if _, err := unix.Setsid(); err != nil {
		return err
	}
	ctx, lease, err := rowlock.FromEnvironment(context.Background())
	if err != nil {
		return err
	}
	driver, dsn, _ := strings.Cut(os.Getenv(childVariable), " ")
	db, err := sql.Open(driver, dsn)
	if err != nil {
		return err
	}
	defer db.Close()
	guard := guards[driver](db)
	write := func(ctx context.Context) error {
		return guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO ledger (n) VALUES (1)")
			return err
		}, "orders")
	}
	script, err := guard.CheckSQL(lease, "orders")
	if err = errors.Join(err, write(ctx)); err != nil {
		return err
	}
	made := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(made)
		_ = os.WriteFile("ended", nil, 0o600)
	})
	fmt.Println("working", lease.Token())
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		switch lines.Text() {
		case "end":
			<-made
			fmt.Println("lost:", errors.Is(context.Cause(ctx), rowlock.ErrLost), context.Cause(ctx))
		case "tx":
			err := write(ctx)
			fmt.Println("refused:", errors.Is(err, rowlock.ErrLost) || errors.Is(err, fence.ErrStale), err)
		case "script": // the database itself has to refuse it, because it does not ask the lease
			fmt.Println(runScript(db, append(script, "INSERT INTO ledger (n) VALUES (2)")))
		case "release":
			fmt.Println(lease.Release(ctx), context.Cause(ctx), guard.ReleaseOnCommit(lease.Context(), nil))
		case "commit":
			err := guard.ReleaseOnCommit(ctx, func(context.Context, *sql.Tx) error { return nil })
			fmt.Println(errors.Is(err, errors.ErrUnsupported), lease.Err(), err)
		}
	}
	return nil
}

func runScript(db *sql.DB, statements []string) error {
	tx, err := db.BeginTx(context.Background(), nil)
	if err != nil {
		return err
	}
	defer tx.Rollback() //nolint:errcheck // nothing to undo after a commit
	for _, s := range statements {
		if _, err := tx.ExecContext(context.Background(), s); err != nil {
			return err
		}
	}
	return tx.Commit()
}

// inheritors maps each kind of database to a function that makes one for a test, with an empty ledger.
var inheritors = map[string]func(t *testing.T, w workplace) (store, driver, dsn string){
	"postgres": func(t *testing.T, _ workplace) (string, string, string) {
		dsn := testenv.Postgres(t)
		return dsn, "pgx", dsn
	},
	"mysql": func(t *testing.T, _ workplace) (string, string, string) {
		dsn := testenv.MySQL(t)
		return dsn, "mysql", dsn
	},
	"mariadb": func(t *testing.T, _ workplace) (string, string, string) {
		dsn := testenv.MariaDB(t)
		return dsn, "mysql", dsn
	},
	"sqlite": func(_ *testing.T, w workplace) (string, string, string) {
		path := filepath.Join(w.dir, "locks.db")
		return "sqlite:" + path, "sqlite", "file:" + path + "?_pragma=busy_timeout(10000)&_txlock=immediate"
	},
}

// family is a "rowlock run" and its child.
type family struct {
	w     workplace
	t     *testing.T
	db    *sql.DB
	run   *os.Process
	wait  func() error
	stdin io.WriteCloser
	lines *bufio.Reader
	token string
}

func newFamily(t *testing.T, kind string, options ...string) *family {
	t.Helper()
	f := &family{w: newWorkplace(t), t: t}
	store, driver, dsn := inheritors[kind](t, f.w)
	f.w.env = append(f.w.env, "ROWLOCK_STORE="+store, childVariable+"="+driver+" "+dsn)
	migrated(t, f.w, store)
	var err error
	f.db, err = sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, f.db.Close()) })
	_, err = f.db.ExecContext(t.Context(), "CREATE TABLE ledger (n bigint NOT NULL)")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	require.NoError(t, os.Symlink(self, filepath.Join(f.w.dir, "child")))

	args := append([]string{"run", "nightly", "--fence=orders,nightly"}, options...)
	cmd := f.w.command(t, scriptTimeout, "rowlock", append(args, "--", "sh", "-c", "./child; exit $?")...)
	f.stdin, err = cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	f.run, f.wait, f.lines = cmd.Process, cmd.Wait, bufio.NewReader(out)
	f.token = strings.TrimPrefix(f.line(), "working ")
	return f
}

// line returns the next line that the child writes.
func (f *family) line() string {
	f.t.Helper()
	line, err := f.lines.ReadString('\n')
	require.NoError(f.t, err, "the child has ended: %s", line)
	return strings.TrimSuffix(line, "\n")
}

// ask makes the child execute a command, and returns the outcome.
func (f *family) ask(command string) string {
	f.t.Helper()
	_, err := fmt.Fprintln(f.stdin, command)
	require.NoError(f.t, err)
	return f.line()
}

// succeed runs another process under the lock. That process runs the script, which must succeed.
func (f *family) succeed(script string) {
	f.t.Helper()
	code, said := f.w.run(f.t, "run", "nightly", "--ttl=15s", "--wait=1m", "--fence=orders,nightly", "--", "sh", "-c", script)
	require.Zero(f.t, code, said)
}

// refuse asserts that neither the library nor the database accepts a write of the child, and that no such write was
// committed.
func (f *family) refuse() {
	f.t.Helper()
	assert.Contains(f.t, f.ask("tx"), "refused: true")
	assert.Contains(f.t, f.ask("script"), "rowlock: stale")
	var n int
	require.NoError(f.t, f.db.QueryRowContext(f.t.Context(), "SELECT count(*) FROM ledger").Scan(&n))
	assert.Equal(f.t, 1, n, "only the write that was made under the lock")
}

// eachFamily runs a test on each kind of database but SQLite.
func eachFamily(t *testing.T, test func(t *testing.T, kind, ttl string)) {
	t.Helper()
	t.Parallel()
	for kind := range inheritors {
		if kind == "sqlite" {
			continue
		}
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			test(t, kind, "15s")
		})
	}
}

// If rowlock is suspended for longer than its TTL, the child's context ends before another process can acquire the
// lock. The child's later writes are refused.
func TestAChildStopsWhenItsParentIsSuspended(t *testing.T) {
	t.Parallel()
	parentSuspended(t, "sqlite", shortTTL)
}

// TestCompatAChildStopsWhenItsParentIsSuspended shows the same on other databases.
func TestCompatAChildStopsWhenItsParentIsSuspended(t *testing.T) { eachFamily(t, parentSuspended) }

func parentSuspended(t *testing.T, kind, ttl string) {
	t.Helper()
	f := newFamily(t, kind, "--ttl="+ttl)
	require.NoError(t, f.run.Signal(syscall.SIGSTOP))
	f.succeed("test -e ended")
	assert.Contains(t, f.ask("end"), "lost: true")
	f.refuse()
	require.NoError(t, f.run.Signal(syscall.SIGCONT))
	require.NoError(t, f.stdin.Close())
	require.ErrorContains(t, f.wait(), "exit status 79")
}

// If rowlock is killed, a child that outlives it loses its trust at once, and long before another process can acquire
// the lock. The child's later writes are refused.
func TestAChildStopsWhenItsParentIsKilled(t *testing.T) {
	t.Parallel()
	parentKilled(t, "sqlite", "")
}

// TestCompatAChildStopsWhenItsParentIsKilled shows the same on other databases.
func TestCompatAChildStopsWhenItsParentIsKilled(t *testing.T) { eachFamily(t, parentKilled) }

// parentKilled uses a TTL of 30 s. rowlock renews the lease before it answers the child, which a slow machine delays.
// With this TTL it may take 5 s.
func parentKilled(t *testing.T, kind, _ string) {
	t.Helper()
	f := newFamily(t, kind, "--ttl=30s")
	killed := time.Now()
	require.NoError(t, f.run.Kill())
	assert.Contains(t, f.ask("end"), "lost: true")
	assert.Less(t, time.Since(killed), 10*time.Second, "it does not wait for its deadline")
	f.release(t) // otherwise the next process would wait for the end of the lease
	f.succeed("test -e ended")
	f.refuse()
	require.NoError(t, f.stdin.Close())
	_ = f.wait() // killed
}

// If an operator releases the lock by force, another process may acquire it while the child still trusts its lease. The
// database refuses the child's writes from then on. The child's context ends at the next renewal.
func TestAChildOfAReleasedLockIsRefused(t *testing.T) {
	t.Parallel()
	lockReleased(t, "sqlite", "15s")
}

// TestCompatAChildOfAReleasedLockIsRefused shows the same on other databases.
func TestCompatAChildOfAReleasedLockIsRefused(t *testing.T) { eachFamily(t, lockReleased) }

func lockReleased(t *testing.T, kind, ttl string) {
	t.Helper()
	f := newFamily(t, kind, "--ttl="+ttl)
	f.release(t)
	f.succeed("true")
	f.refuse()
	assert.Contains(t, f.ask("end"), "lost: true")
	require.NoError(t, f.stdin.Close())
	require.ErrorContains(t, f.wait(), "exit status 79")
}

// release ends the lease as an operator does.
func (f *family) release(t *testing.T) {
	t.Helper()
	code, said := f.w.run(t, "release", "nightly", "--live", "--token", f.token)
	require.Zero(t, code, said)
}

// A child can release neither the lock nor the trust of its parent. The lock stays held until rowlock releases it.
func TestAChildNeverReleasesTheLock(t *testing.T) {
	t.Parallel()
	f := newFamily(t, "sqlite")
	assert.True(t, strings.HasPrefix(f.ask("commit"), "true <nil> "), "it cannot release by a commit")
	assert.Equal(t, "<nil> rowlock: not held: released rowlock: not held: released", f.ask("release"))
	code, said := f.w.run(t, "status", "nightly")
	require.Equal(t, 75, code, said)
	require.NoError(t, f.stdin.Close())
	require.NoError(t, f.wait())
	code, said = f.w.run(t, "status", "nightly")
	require.Zero(t, code, said)
}

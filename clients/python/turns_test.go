//go:build unix

package python_test

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
)

// goWorker is the first argument of the test's own program when it runs as a worker.
const goWorker = "worker-in-go"

// newCounter returns a database with a counter.
func newCounter(t *testing.T, kind string) store {
	t.Helper()
	s := newStore(t, kind)
	for _, statement := range []string{
		"CREATE TABLE counted (n bigint NOT NULL, token bigint NOT NULL, worker varchar(40) NOT NULL)", "INSERT INTO counted VALUES (0, 0, '')",
	} {
		_, err := s.db.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	return s
}

// work increments the counter until the process is killed. It does the same as testdata/worker.py.
func work(store, dsn, name string) {
	s := open(nil, store, dsn)
	locker, err := rowlock.New(s.backend, rowlock.TTL(time.Second), rowlock.Fenced(s.guard))
	if err != nil {
		panic(err)
	}
	for {
		_ = locker.Do(context.Background(), "counter", func(ctx context.Context, lease *rowlock.Lease) error {
			for range 1 + rand.IntN(4) {
				err := s.guard.Tx(ctx, func(ctx context.Context, tx *sql.Tx) error {
					var last int
					err := tx.QueryRowContext(ctx, "SELECT max(n) FROM counted").Scan(&last)
					if err == nil {
						_, err = tx.ExecContext(ctx, fmt.Sprintf("INSERT INTO counted VALUES (%d, %d, '%s')", last+1, lease.Token(), name))
					}
					time.Sleep(rand.N(20 * time.Millisecond))
					return err
				}, "counter")
				if err != nil {
					return err
				}
			}
			return nil
		})
	}
}

// fleet is a set of worker processes. A worker that was killed is started again.
type fleet struct {
	commands [][]string
	running  []*exec.Cmd
}

func newFleet(t *testing.T, kind string, s store, mode string, inGo int) *fleet {
	t.Helper()
	f := &fleet{}
	interpreter := python(t)
	for i := range 2 {
		f.commands = append(f.commands, []string{interpreter, "testdata/worker.py", s.url, fmt.Sprint("python", i), mode})
	}
	for i := range inGo {
		f.commands = append(f.commands, []string{os.Args[0], goWorker, kind, s.dsn, fmt.Sprint("go", i)})
	}
	f.running = make([]*exec.Cmd, len(f.commands))
	for i := range f.commands {
		f.start(t, i)
	}
	t.Cleanup(func() {
		for i := range f.running {
			f.kill(i)
		}
	})
	return f
}

func (f *fleet) start(t *testing.T, i int) {
	t.Helper()
	cmd := exec.Command(f.commands[i][0], f.commands[i][1:]...)
	cmd.Stderr = os.Stderr
	require.NoError(t, cmd.Start())
	f.running[i] = cmd
}

func (f *fleet) kill(i int) {
	_ = f.running[i].Process.Kill()
	_ = f.running[i].Wait()
}

// disturb kills a worker, or suspends it for longer than its TTL.
func (f *fleet) disturb(t *testing.T) {
	t.Helper()
	i := rand.IntN(len(f.running))
	if rand.IntN(3) == 0 {
		f.kill(i)
		f.start(t, i)
		return
	}
	p := f.running[i].Process
	require.NoError(t, p.Signal(syscall.SIGSTOP))
	time.Sleep(1300 * time.Millisecond)
	require.NoError(t, p.Signal(syscall.SIGCONT))
}

// lostUpdates returns how many increments were lost, and how many were made.
func lostUpdates(t *testing.T, db *sql.DB) (lost, made int) {
	t.Helper()
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) - count(DISTINCT n), count(*) - 1 FROM counted").Scan(&lost, &made))
	return lost, made
}

// Promise: Python and Go processes exclude each other and are fenced by each other, even if they are killed and
// suspended. No increment is lost, and the tokens rise in the order of the increments.
// TestFencedChainOfMixedWorkersIsUnbroken in internal/processes shows the same in less time.
func TestCompatPythonAndGoTakeTurns(t *testing.T) {
	t.Parallel()
	for kind := range stores {
		t.Run(kind, func(t *testing.T) {
			testenv.Compat(t)
			t.Parallel()
			takeTurns(t, kind)
		})
	}
}

func takeTurns(t *testing.T, kind string) {
	t.Helper()
	s := newCounter(t, kind)
	db := s.db
	f := newFleet(t, kind, s, "fenced", 2)
	both := func() bool {
		var kinds int
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(DISTINCT left(worker, 2)) FROM counted WHERE n > 0").Scan(&kinds))
		return kinds == 2
	}
	for begin := time.Now(); time.Since(begin) < 8*time.Second || !both() && time.Since(begin) < 3*time.Minute; {
		f.disturb(t)
		time.Sleep(rand.N(200 * time.Millisecond))
	}
	require.True(t, both(), "only one language made increments")
	lost, made := lostUpdates(t, db)
	t.Logf("%d increments", made)
	assert.Zero(t, lost, "lost updates")
	var falls, shared int
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM (SELECT token < lag(token) OVER (ORDER BY n) AS falls FROM counted) c WHERE falls").Scan(&falls))
	assert.Zero(t, falls, "increments whose token is smaller than the one before")
	require.NoError(t, db.QueryRowContext(t.Context(), "SELECT count(*) FROM (SELECT token FROM counted GROUP BY token HAVING count(DISTINCT worker) > 1) c").Scan(&shared))
	assert.Zero(t, shared, "tokens of two workers")
}

// Control: without the fence, the same faults lose updates.
func TestCompatUnfencedPythonLosesUpdates(t *testing.T) {
	testenv.Compat(t)
	t.Parallel()
	s := newCounter(t, "postgres")
	db := s.db
	f := newFleet(t, "postgres", s, "unfenced", 0)
	lost := 0
	for begin := time.Now(); lost == 0 && time.Since(begin) < 3*time.Minute; {
		f.disturb(t)
		lost, _ = lostUpdates(t, db)
	}
	assert.Positive(t, lost, "the faults are too weak for the run with the fence to prove something")
}

// waiting reports whether a process waits for a lock, and whether one waits to seal.
type waiting struct {
	toAcquire, toSeal func(t *testing.T, db *sql.DB) bool
}

var waitingInMySQL = waiting{
	toAcquire: positive("SELECT count(*) FROM rowlock_lease WHERE waiters IS NOT NULL"),
	toSeal: func(t *testing.T, db *sql.DB) bool {
		var database string
		require.NoError(t, db.QueryRowContext(t.Context(), "SELECT database()").Scan(&database))
		return slices.ContainsFunc(testenv.Sessions(t, db), func(s testenv.Session) bool {
			return s.Database == database && strings.Contains(s.Statement, "INSERT INTO rowlock_lease_fence")
		})
	},
}

var waitingIn = map[string]waiting{
	"postgres": {
		toAcquire: positive("SELECT count(*) FROM rowlock_lease_waiter"),
		toSeal: positive(`SELECT count(*) FROM pg_locks
			WHERE locktype = 'advisory' AND NOT granted AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`),
	},
	"mysql": waitingInMySQL, "mariadb": waitingInMySQL,
}

// positive reports whether a query returns a number that is larger than 0.
func positive(query string) func(*testing.T, *sql.DB) bool {
	return func(t *testing.T, db *sql.DB) bool {
		var n int
		require.NoError(t, db.QueryRowContext(t.Context(), query).Scan(&n), query)
		return n > 0
	}
}

// A job that seals before it reads sees every write of an older holder, even if that holder commits late. A job that
// reads before it seals overwrites such a write.
func TestReadBeforeTheSealIsCaught(t *testing.T) { readBeforeTheSealIsCaught(t, mainStores...) }

func TestCompatReadBeforeTheSealIsCaught(t *testing.T) {
	testenv.Compat(t)
	readBeforeTheSealIsCaught(t, "mariadb")
}

func readBeforeTheSealIsCaught(t *testing.T, kinds ...string) {
	t.Helper()
	t.Parallel()
	for _, kind := range kinds {
		for mode, want := range map[string]int{"once": 0, "read-first": 1} {
			t.Run(kind+"/"+mode, func(t *testing.T) {
				t.Parallel()
				lost, made := overtaken(t, kind, mode)
				assert.Equal(t, want, lost, "lost updates")
				assert.Equal(t, 2, made)
			})
		}
	}
}

// overtaken runs a job, which gets the lock while a transaction of an older holder is open. It returns how many
// increments were lost, and how many were made.
func overtaken(t *testing.T, kind, mode string) (lost, made int) {
	t.Helper()
	s := newCounter(t, kind)
	locker, err := rowlock.New(s.backend, rowlock.TTL(time.Minute))
	require.NoError(t, err)
	defer locker.Close()
	old, err := locker.Acquire(t.Context(), "counter")
	require.NoError(t, err)
	require.NoError(t, s.guard.Seal(t.Context(), old, "counter"))
	tx, err := s.db.BeginTx(t.Context(), nil)
	require.NoError(t, err)
	defer func() { _ = tx.Rollback() }()
	require.NoError(t, s.guard.Check(old.Context(), tx, "counter"))
	_, err = tx.ExecContext(t.Context(), fmt.Sprintf("INSERT INTO counted VALUES (1, %d, 'old')", old.Token()))
	require.NoError(t, err)

	job := exec.CommandContext(t.Context(), python(t), "testdata/worker.py", s.url, "new", mode)
	out := &strings.Builder{}
	job.Stdout, job.Stderr = out, out
	require.NoError(t, job.Start())
	ended := make(chan error, 1)
	go func() { ended <- job.Wait() }()
	if mode == "read-first" { // its read has ended before it waits for the lock
		until(t, s.db, waitingIn[kind].toAcquire, ended, out)
	}
	require.NoError(t, s.backend.(driver.Operator).ForceRelease(t.Context(), driver.Key{Name: "counter"}, old.Token(), true))
	until(t, s.db, waitingIn[kind].toSeal, ended, out)
	require.NoError(t, tx.Commit())
	require.NoError(t, <-ended, out)
	return lostUpdates(t, s.db)
}

// until waits until a process waits. It fails if the job ends before that. On a busy machine the interpreter alone may
// take half a minute to start.
func until(t *testing.T, db *sql.DB, waits func(*testing.T, *sql.DB) bool, ended <-chan error, out fmt.Stringer) {
	t.Helper()
	for end := time.After(3 * time.Minute); !waits(t, db); {
		select {
		case err := <-ended:
			require.FailNow(t, "the job has ended", "%v: %s", err, out)
		case <-end:
			require.FailNow(t, "no process waits")
		case <-time.After(10 * time.Millisecond):
		}
	}
}

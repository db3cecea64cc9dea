//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
)

// TestMain runs the command rowlock if the test binary was started under that name. So if the tests are built with the
// race detector, the command has the race detector, too.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "rowlock" {
		main()
	}
	other := map[string]func() error{"sqlite3": sqlite3, "child": child} // the consoles of the pages use sqlite3
	if program := other[filepath.Base(os.Args[0])]; program != nil {
		if err := program(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if signal.Ignored(syscall.SIGHUP) { // for example under nohup; a shell cannot trap a signal that was ignored when it began
		signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	}
	leaks.Main(m)
}

// scriptTimeout is the time limit of a script. If a script hangs, its test fails after this time. A script may wait up
// to a minute for a lock. Leases in the scripts have a TTL of at least 15 s, because the TTL also limits how long a
// request may take. With a TTL of 6 s the limit is one second, and PostgreSQL took longer on a loaded machine.
const scriptTimeout = 2 * time.Minute

// leftOut maps each script that does not run on some stores to these stores and the reason.
var leftOut = map[string][]exception{
	"closed":        {{ofSessions, "a session lock is free when it is released: session_usage has the error"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful"}},
	"demo":          {{ofSessions, "the demonstration needs a lease that expires: session_usage has the error"}, {ofKeyValues, "it needs a table: keyvalue_usage has the error"}},
	"dry_run":       {{regexp.MustCompile("^(sqlite|postgres|mysql|mariadb|redis|redis-cluster|redlock)$"), "the holder is shown as by status"}},
	"fence":         {{ofSessions, "the demonstration, which seals, needs lease rows: session_usage has fence on these stores"}, {ofKeyValues, "marks are in tables: keyvalue_usage has the error"}},
	"history":       {{ofKeyValues, "it is kept in a table: keyvalue_usage has the error"}},
	"held_sentence": {{ofSessions, "no lease ends: session_status has the sentence"}, {ofForgetful, "only the leader knows when the lease began and ends: forgetful has the sentence"}},
	"migrate":       {{ofSessions, "without the newest migration there are no tokens: session_migrate"}, {ofKeyValues, "there are no tables: keyvalue_usage has the error"}},
	"min_hold":      {{ofSessions, "a session lock is free when it is released: session_usage has the error"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful has the error"}},
	"once":          {{ofSessions, "the store keeps nothing about a released lock: session_usage has the error"}, {ofRedlock, "its servers may forget: keyvalue_usage has the error"}},
	"pause":         {{ofSessions, "a session lock cannot be paused: session_usage has the error"}, {ofRedlock, "its servers may forget: keyvalue_usage has the error"}},
	"shared":        {{ofGetLocks, "GET_LOCK has no shared locks: session_usage has the error"}, {ofRedlock, "it grants no shared locks: keyvalue_usage has the error"}},
	"release":       {{ofSessions, "no lease expires, and a released lock is free at once: session_release"}},
	"status":        {{ofSessions, "no lease ends, and Postgres keeps no names: session_status"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful"}},

	"prune": {{ofSessions, "the store keeps nothing about locks in memory: session_status"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful"}, {ofTwins, "the backend does it: status"}},
	"wait":  {{ofSessions, "it shows the state repeatedly: session_status"}, {ofForgetful, "it shows the state repeatedly: forgetful"}, {ofTwins, "it shows the state repeatedly: status"}},
	"watch": {{ofSessions, "Postgres keeps no names: session_status has the list"}, {ofForgetful, "it shows the list repeatedly: forgetful"}, {ofTwins, "it shows the list repeatedly: status"}},

	"operator_usage": {{ofSessions, "said before the store is opened: session_usage has more"}, {ofForgetful, "said before the store is opened: usage"}, {ofTwins, "said before the store is opened: usage"}},

	"session_crash":   {{ofLeases, "a lease is free after its TTL: crash"}},
	"session_migrate": {{ofKeyValues, "only for session locks, and there are no tables: keyvalue_usage"}, {ofLeases, "only for session locks: migrate"}},
	"session_release": {{ofLeases, "only for session locks: release"}},
	"session_status":  {{ofForgetful, "only for session locks: forgetful"}, {ofLeases, "only for session locks: status"}},
	"session_usage":   {{ofLeases, "only for session locks: usage"}},

	"forgetful":      {{ofSessions, "only for stores that keep nothing about a free lock: session_status"}, {ofOthers(ofForgetful), "only for stores that keep nothing about a free lock: status"}},
	"keyvalue_usage": {{ofSessions, "only for stores without tables: session_usage"}, {ofOthers(ofKeyValues), "only for stores without tables: usage"}},
}

// exception names the stores on which a script does not run, by a pattern, and the reason.
type exception struct {
	of  interface{ MatchString(string) bool }
	why string
}

var (
	ofSessions  = regexp.MustCompile("-(advisory|getlock)$")
	ofGetLocks  = regexp.MustCompile("-getlock$")
	ofLeases    = ofOthers(ofSessions)
	ofKeyValues = regexp.MustCompile("^(redis|redis-cluster|redlock|etcd|zookeeper)$")
	ofRedlock   = regexp.MustCompile("^redlock$")
	ofTwins     = regexp.MustCompile("^(default|mariadb|redis-cluster|redlock)$")
	ofForgetful = regexp.MustCompile("^(etcd|zookeeper)$")
)

// others matches the texts that another pattern, in the field than, does not match.
type others struct{ than *regexp.Regexp }

func ofOthers(than *regexp.Regexp) others { return others{than} }

func (o others) MatchString(s string) bool { return !o.than.MatchString(s) }

// TestScripts runs each script in testdata on each store. The first lines of a script say what the script tests.
func TestScripts(t *testing.T) {
	t.Parallel()
	scripts, err := filepath.Glob("testdata/*.sh")
	require.NoError(t, err)
	require.NotEmpty(t, scripts)
	stores := map[string]func(testing.TB, workplace) string{
		"default":  func(testing.TB, workplace) string { return "local" },
		"sqlite":   func(testing.TB, workplace) string { return "sqlite:locks.db" },
		"postgres": func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.Postgres(tb)) },
		"mysql":    func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.MySQL(tb)) },
		"mariadb":  func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.MariaDB(tb)) },
		"postgres-advisory": func(tb testing.TB, w workplace) string {
			return migrated(tb, w, strings.Replace(testenv.Postgres(tb), "postgres://", "postgres-advisory://", 1))
		},
		"mysql-getlock":   func(tb testing.TB, w workplace) string { return migrated(tb, w, "mysql-getlock:"+testenv.MySQL(tb)) },
		"mariadb-getlock": func(tb testing.TB, w workplace) string { return migrated(tb, w, "mysql-getlock:"+testenv.MariaDB(tb)) },
		"redis":           redisStore,
		"redis-cluster":   redisCluster(t),
		"redlock":         redlockStore(t),
		"etcd":            etcdStore,
		"zookeeper":       zookeeperStore,
	}
	for name := range leftOut {
		require.Contains(t, scripts, filepath.Join("testdata", name+".sh"), "it is not left out of any store")
		for store := range stores {
			if why := isLeftOut(name, store); why != "" {
				require.True(t, instead(why, store), "%s does not run on %s, and the reason names no script that does: %s", name, store, why)
			}
		}
	}
	for store, open := range stores {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			for _, script := range scripts {
				name := strings.TrimSuffix(filepath.Base(script), ".sh")
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if why := isLeftOut(name, store); why != "" {
						t.Skip(why)
					}
					w := newWorkplace(t)
					w.env = append(w.env, "ROWLOCK_STORE="+open(t, w))
					w.script(t, script)
				})
			}
		})
	}
}

// isLeftOut returns the reason why the script does not run on the store. The result is empty if the script runs.
func isLeftOut(script, store string) (why string) {
	for _, e := range leftOut[script] {
		if e.of.MatchString(store) {
			return e.why
		}
	}
	return ""
}

// instead reports whether another script covers the store. The text reason, which says why the first script is left
// out, names the other script.
func instead(reason, store string) bool {
	for _, word := range strings.FieldsFunc(reason, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }) {
		if _, err := os.Stat(filepath.Join("testdata", word+".sh")); err == nil {
			if isLeftOut(word, store) == "" {
				return true
			}
		}
	}
	return false
}

// workplace is a folder and an environment for processes of a test. The environment's PATH contains the command
// rowlock, and the command's default store is in the folder.
type workplace struct {
	dir string
	env []string
}

func newWorkplace(tb testing.TB) workplace {
	tb.Helper()
	self, err := os.Executable()
	require.NoError(tb, err)
	bin, dir := tb.TempDir(), tb.TempDir()
	require.NoError(tb, os.Symlink(self, filepath.Join(bin, "rowlock")))
	w := workplace{dir: dir}
	for _, entry := range os.Environ() {
		if !strings.HasPrefix(entry, "ROWLOCK_") && !strings.HasPrefix(entry, "PATH=") {
			w.env = append(w.env, entry)
		}
	}
	w.env = append(w.env, "GORACE=atexit_sleep_ms=0") // otherwise the race detector delays the end of every process by a second
	w.env = append(w.env, "PATH="+bin+":"+os.Getenv("PATH"), "XDG_STATE_HOME="+filepath.Join(dir, "state"))
	return w
}

// command returns a command that runs a program in the workplace's folder, in its own process group.
// The group is killed after limit.
func (w workplace) command(tb testing.TB, limit time.Duration, name string, args ...string) *exec.Cmd {
	tb.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	tb.Cleanup(cancel)
	if name == "rowlock" {
		name = filepath.Join(strings.Split(strings.TrimPrefix(w.path(), "PATH="), ":")[0], name)
	}
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = w.dir, w.env
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 20 * time.Second
	return cmd
}

func (w workplace) path() string {
	for _, entry := range w.env {
		if strings.HasPrefix(entry, "PATH=") {
			return entry
		}
	}
	return ""
}

func (w workplace) script(tb testing.TB, script string) {
	tb.Helper()
	absolute, err := filepath.Abs(script)
	require.NoError(tb, err)
	output, err := w.command(tb, scriptTimeout, "sh", "-x", absolute).CombinedOutput()
	if err != nil {
		messages, _ := os.ReadFile(filepath.Join(w.dir, "err"))
		tb.Fatalf("%s: %v\n%s\nthe last err file:\n%s", script, err, output, messages)
	}
}

// migrated creates the lock tables in the store, and returns the store.
func migrated(tb testing.TB, w workplace, store string) string {
	tb.Helper()
	output, err := w.command(tb, scriptTimeout, "rowlock", "migrate", "up", "--store", store).CombinedOutput()
	require.NoError(tb, err, "%s", output)
	return store
}

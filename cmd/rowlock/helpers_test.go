//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
)

// programs maps the name of each further program that the test binary can be to its function. A test that needs such a
// program adds it in an init function.
var programs = map[string]func() error{}

// TestMain runs the command rowlock if the test binary was started under that name. So if the tests are built with the
// race detector, the command has the race detector, too.
func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == "rowlock" {
		main()
	}
	if program := programs[filepath.Base(os.Args[0])]; program != nil {
		if err := program(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	// A shell cannot trap a signal that was ignored when it began. Signals are ignored under nohup, or if a script started
	// the tests in the background.
	for _, s := range []os.Signal{syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
	leaks.Main(m)
}

// scriptTimeout is the time limit of a script. If a script hangs, its test fails after this time. A script may wait up
// to a minute for a lock. Leases in the scripts have a TTL of at least 15 s, because the TTL also limits how long a
// request may take. With a TTL of 6 s the limit is one second, and PostgreSQL took longer on a loaded machine.
const scriptTimeout = 2 * time.Minute

// Tests in which a TTL has to pass use these TTLs on stores that answer fast. A request may then take 1.5 s, or 1.1 s.
const (
	shortTTL   = "9s" // SQLite also waits for the disk
	shorterTTL = "7s" // Redis
)

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
	migrate := w.call
	if strings.HasPrefix(store, "sqlite:") { // the path may be relative to the workplace
		migrate = w.run
	}
	code, output := migrate(tb, "migrate", "up", "--store", store)
	require.Zero(tb, code, output)
	return store
}

// run runs rowlock with args until it ends, and returns its exit code, and its stdout and stderr as one text.
func (w workplace) run(tb testing.TB, args ...string) (int, string) {
	tb.Helper()
	output, err := w.command(tb, scriptTimeout, "rowlock", args...).CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		require.NoError(tb, err, "%s", output)
	}
	if exit != nil {
		return exit.ExitCode(), string(output)
	}
	return 0, string(output)
}

// holds runs a command under a lock, and returns when the command has written a line. The first result is that line.
// The second result is a function: it waits until the command ends, and returns its exit code and its messages. The
// folder contains a FIFO with the name "block". A command that reads from this FIFO blocks.
func (w workplace) holds(tb testing.TB, args ...string) (line string, end func() (code int, messages string)) {
	tb.Helper()
	require.NoError(tb, syscall.Mkfifo(filepath.Join(w.dir, "block"), 0o600))
	cmd := w.command(tb, scriptTimeout, "rowlock", append([]string{"run"}, args...)...)
	var messages bytes.Buffer
	cmd.Stderr = &messages
	stdout, err := cmd.StdoutPipe()
	require.NoError(tb, err)
	require.NoError(tb, cmd.Start())
	end = func() (int, string) {
		_ = cmd.Wait()
		return cmd.ProcessState.ExitCode(), messages.String()
	}
	line, err = bufio.NewReader(stdout).ReadString('\n')
	if err != nil { // the command has ended without writing a line
		code, messages := end()
		require.FailNow(tb, "the command was not run", "%d: %s", code, messages)
	}
	return strings.TrimSpace(line), end
}

// unavailable checks that rowlock exits with code 69 within hangLimit, and that rowlock ran no command. The function
// may run in any goroutine. So if a check fails, unavailable marks the test as failed, and does not end the test.
func unavailable(tb testing.TB, w workplace, args []string) {
	start := time.Now()
	output, err := w.command(tb, hangLimit, "rowlock", args...).CombinedOutput()
	var exit *exec.ExitError
	told := fmt.Sprintf("rowlock %s, after %s: %v\n%s", strings.Join(args, " "), time.Since(start), err, output)
	if assert.ErrorAs(tb, err, &exit, told) {
		assert.Equal(tb, 69, exit.ExitCode(), told)
	}
	assert.NotContains(tb, string(output), "secret")
	assert.NoFileExists(tb, filepath.Join(w.dir, "never"))
}

// diagnosis is the output of doctor --json.
type diagnosis struct {
	Store              string
	Problems, Warnings int
	Findings           []struct{ Severity, Check, Found, Do string }
}

// doctor runs the command doctor, and checks that the exit code fits the findings. It returns each warning and each
// problem once, as "severity check". It omits the warning about an unbounded connect, because the addresses of the test
// servers have no connect timeout. TestDoctorFindsAnUnboundedConnect tests that warning.
func (w workplace) doctor(tb testing.TB, store string) (found []string, d diagnosis) {
	tb.Helper()
	diagnose := w.call
	if strings.HasPrefix(store, "sqlite:") { // the path may be relative to the workplace
		diagnose = w.run
	}
	code, output := diagnose(tb, "doctor", "--json", "--store", store)
	require.NoError(tb, json.Unmarshal([]byte(output), &d), output)
	require.Equal(tb, d.Problems > 0, code != 0, output)
	for _, f := range d.Findings {
		if about := f.Severity + " " + f.Check; f.Severity != "ok" && f.Check != "connect" && !slices.Contains(found, about) {
			found = append(found, about)
		}
	}
	slices.Sort(found)
	return found, d
}

// text returns the sentences of all findings as one text.
func (d diagnosis) text() string {
	var b strings.Builder
	for _, f := range d.Findings {
		b.WriteString(f.Severity + " " + f.Check + ": " + f.Found + " -> " + f.Do + "\n")
	}
	return b.String()
}

func advisoryOf(dsn string) string {
	return strings.Replace(dsn, "postgres://", "postgres-advisory://", 1)
}

func databaseOf(dsn string) string {
	u, _ := url.Parse(dsn) // cannot fail: the URL comes from the test
	return strings.Trim(u.Path, "/")
}

// with sets a parameter of a URL.
func with(dsn, name, value string) string {
	u, _ := url.Parse(dsn) // cannot fail: the URL comes from the test
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

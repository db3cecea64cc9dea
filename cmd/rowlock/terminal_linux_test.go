package main

import (
	"bufio"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// A command that reads from the terminal gets the user's input, although the command runs in its own process group.
func TestCommandReadsTheTerminal(t *testing.T) {
	t.Parallel()
	user := login(t, `rowlock run job -- sh -c 'echo ready; read line; echo "got $line"'; echo "code $?"`)
	user.sees("ready")
	user.types("hello\n")
	user.sees("got hello")
	user.sees("code 0")
}

// The suspend key suspends the command and returns the terminal to the shell. The shell command fg continues the command, which
// still holds the lock.
func TestSuspendAndGoOn(t *testing.T) {
	t.Parallel()
	user := login(t, `set -m; rowlock run job -- sh -c 'echo ready; read line; echo "got $line"'; echo back; fg >/dev/null; echo "code $?"`)
	user.sees("ready")
	user.types("\x1a")
	user.sees("back")
	user.types("hello\n")
	user.sees("got hello")
	user.sees("code 0")
}

// If a command was suspended for longer than its lease, rowlock kills the command and never continues it.
// So the command executes nothing without the lock.
func TestSuspendedForTooLongIsLost(t *testing.T) {
	t.Parallel()
	user := login(t, `set -m; rowlock run job --ttl `+shortTTL+` -- sh -c 'echo ready; read line; echo "got $line"'; echo back; `+
		`until rowlock run job -q -- true; do :; done; fg >/dev/null; echo "code $?"`)
	user.sees("ready")
	user.types("\x1a")
	user.sees("back")
	user.sees("code 79")
	require.NotContains(t, user.seen.String(), "got")
}

// The interrupt key ends the command, and rowlock ends after the command.
func TestInterruptKey(t *testing.T) {
	t.Parallel()
	user := login(t, `trap : INT; rowlock run job -- sh -c 'echo ready; while :; do read line || exit; done'; echo "code $?"`)
	user.sees("ready")
	user.types("\x03")
	user.sees("code 130")
}

// person simulates a user at a terminal.
type person struct {
	tb     testing.TB
	tty    *os.File
	output *bufio.Scanner
	seen   strings.Builder
}

// login runs a shell script on a new terminal, in a new session.
func login(tb testing.TB, script string) *person {
	tb.Helper()
	ours, theirs := openTerminal(tb)
	cmd := newWorkplace(tb).command(tb, scriptTimeout, "sh", "-c", script)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = theirs, theirs, theirs
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	require.NoError(tb, cmd.Start())
	require.NoError(tb, theirs.Close())
	tb.Cleanup(func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
		_ = ours.Close()
	})
	return &person{tb: tb, tty: ours, output: bufio.NewScanner(ours)}
}

func openTerminal(tb testing.TB) (ours, theirs *os.File) {
	tb.Helper()
	ours, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(tb, err)
	require.NoError(tb, unix.IoctlSetPointerInt(int(ours.Fd()), unix.TIOCSPTLCK, 0))
	number, err := unix.IoctlGetInt(int(ours.Fd()), unix.TIOCGPTN)
	require.NoError(tb, err)
	theirs, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	require.NoError(tb, err)
	return ours, theirs
}

// sees reads the terminal's output until a line contains want. The timeout of the script limits the wait.
func (p *person) sees(want string) {
	p.tb.Helper()
	for p.output.Scan() {
		p.seen.WriteString(p.output.Text() + "\n")
		if strings.Contains(p.output.Text(), want) {
			return
		}
	}
	p.tb.Fatalf("%q was not shown; the output is:\n%s", want, p.seen.String())
}

func (p *person) types(keys string) {
	p.tb.Helper()
	_, err := p.tty.WriteString(keys)
	require.NoError(p.tb, err)
}

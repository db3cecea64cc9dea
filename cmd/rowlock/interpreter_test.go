//go:build unix

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/expand"
	"mvdan.cc/sh/v3/interp"
	"mvdan.cc/sh/v3/syntax"

	"github.com/rowlock/rowlock/internal/cli"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// interpret runs a shell script in the process of the test. Each command rowlock of the script is a call of cli.Main.
// Other programs, and rowlock inside a command that runs under a lock, are processes. The function changes the working
// folder and the PATH of the process, so the test must not run in parallel.
func (w workplace) interpret(t *testing.T, script string) {
	t.Helper()
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	output, err := w.evaluate(t, string(text))
	if err != nil {
		messages, _ := os.ReadFile(filepath.Join(w.dir, "err"))
		t.Fatalf("%s: %v\n%s\nthe last err file:\n%s", script, err, output, messages)
	}
}

// evaluate runs the text of a shell script, and returns its output and its commands. The error is nil if the script
// succeeds.
func (w workplace) evaluate(t *testing.T, text string) (string, error) {
	t.Helper()
	program, err := syntax.NewParser().Parse(strings.NewReader(text), "")
	require.NoError(t, err)
	t.Chdir(w.dir)
	t.Setenv("PATH", strings.TrimPrefix(w.path(), "PATH="))
	log, err := os.OpenFile(filepath.Join(t.TempDir(), "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o600)
	require.NoError(t, err)
	defer log.Close()
	runner, err := interp.New(
		interp.Dir(w.dir), interp.Env(expand.ListEnviron(w.env...)), interp.StdIO(nil, log, log),
		interp.CallHandler(func(_ context.Context, args []string) ([]string, error) {
			if args[0] == "kill" { // rowlock has the process id of the test, so kill could only end the test
				return nil, fmt.Errorf("%q: a script that sends signals needs processes of its own", args)
			}
			_, err := fmt.Fprintf(log, "+ %q\n", args)
			return args, err
		}),
		interp.ExecHandlers(runsInProcess))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), scriptTimeout)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- runner.Run(ctx, program) }()
	select {
	case err = <-ended:
	case <-ctx.Done(): // the script may also hang in a FIFO that nothing opens
		err = ctx.Err()
	}
	written, err2 := os.ReadFile(log.Name())
	require.NoError(t, err2)
	return string(written), err
}

// runsInProcess makes the interpreter run rowlock in the process of the test, and all other programs as usual.
func runsInProcess(next interp.ExecHandlerFunc) interp.ExecHandlerFunc {
	return func(ctx context.Context, args []string) error {
		if args[0] == "rowlock" {
			return mainOf(ctx, args[1:])
		}
		return next(ctx, args)
	}
}

// mainOf calls cli.Main with the files and the environment of a command of the interpreter.
func mainOf(ctx context.Context, args []string) error {
	of := interp.HandlerCtx(ctx)
	in, _ := of.Stdin.(*os.File)
	if in == nil {
		var err error
		if in, err = os.Open(os.DevNull); err != nil {
			return err
		}
		defer in.Close()
	}
	out, outEnded, err := fileTo(of.Stdout)
	if err != nil {
		return err
	}
	messages, messagesEnded, err := fileTo(of.Stderr)
	if err != nil {
		return err
	}
	code := cli.Main(ctx, args, system.Stdio{In: in, Out: out, Err: messages, Env: exported(of.Env)})
	outEnded()
	messagesEnded()
	if code == 0 {
		return nil
	}
	return interp.ExitStatus(uint8(code)) //nolint:gosec // as the system does
}

// fileTo returns a file whose content is written to w. The caller must call the function ended after the last write.
// The function returns when everything has been written.
func fileTo(w io.Writer) (file *os.File, ended func(), err error) {
	if file, ok := w.(*os.File); ok {
		return file, func() {}, nil
	}
	from, to, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	var copying sync.WaitGroup
	copying.Go(func() { _, _ = io.Copy(w, from) })
	return to, func() {
		_ = to.Close()
		copying.Wait()
		_ = from.Close()
	}, nil
}

// exported returns the variables that a command of the interpreter inherits.
func exported(env expand.Environ) (list system.Environment) {
	for name, v := range env.Each {
		if list = list.Without(name); v.IsSet() && v.Exported && v.Kind == expand.String {
			list = append(list, name+"="+v.String())
		}
	}
	return list
}

// call runs rowlock with args in the process of the test, and returns its exit code, and its stdout and stderr as one
// text. The working folder is that of the test, so args must not contain a relative path.
func (w workplace) call(tb testing.TB, args ...string) (int, string) {
	tb.Helper()
	output, err := os.CreateTemp(tb.TempDir(), "output")
	require.NoError(tb, err)
	defer output.Close()
	in, err := os.Open(os.DevNull)
	require.NoError(tb, err)
	defer in.Close()
	code := cli.Main(tb.Context(), args, system.Stdio{In: in, Out: output, Err: output, Env: w.env})
	text, err := os.ReadFile(output.Name())
	require.NoError(tb, err)
	return code, string(text)
}

// The interpreter finds each failure of a script that a shell finds, and passes files, variables and exit codes to
// rowlock and to its command.
func TestAScriptThatFailsIsFound(t *testing.T) {
	for name, test := range map[string]struct {
		script string
		right  bool
	}{
		"nothing fails":          {"rowlock run a -- true", true},
		"simple command":         {"rowlock run a -- false; true", false},
		"end of a pipe":          {"rowlock version | grep -q nothing; true", false},
		"substitution":           {"a=$(rowlock run a -- false); true", false},
		"subshell":               {"(rowlock run a -- false); true", false},
		"function":               {"f() { rowlock run a -- false; }; f; true", false},
		"case":                   {"case a in a) rowlock run a -- false ;; esac; true", false},
		"loop":                   {"for a in 1; do rowlock run a -- false; done; true", false},
		"negation":               {"! rowlock version | grep -q rowlock || exit 1; true", false},
		"test":                   {`test "$(rowlock run a -- echo hi)" = ho; true`, false},
		"background":             {"rowlock run a -- false & wait $!; true", false},
		"unset variable":         {"echo $no_such_variable; true", false},
		"redirection":            {"rowlock version >no/such/folder; true", false},
		"signal":                 {"kill -TERM 1 || true", false},
		"exit code":              {"code=0; rowlock run a -- sh -c 'exit 7' || code=$?; test $code = 7", true},
		"stdin":                  {"echo hi | rowlock run a -- cat >out; test $(cat out) = hi", true},
		"stdout":                 {"test $(rowlock run a -- echo hi) = hi", true},
		"stderr":                 {"rowlock run a -- sh -c 'echo hi >&2' 2>err; test $(cat err) = hi", true},
		"variable":               {"A=b rowlock run a -- sh -c 'test $A = b'", true},
		"variable of a function": {"f() { rowlock run a -- sh -c 'test $A = b'; }; A=b f", true},
		"exported variable":      {"export A=b; rowlock run a -- sh -c 'test $A = b'", true},
		"variable of its own":    {"A=b; rowlock run a -- sh -c 'test -z \"${A-}\"'", true},
		"variable that is unset": {"export A=b; unset A; rowlock run a -- sh -c 'test -z \"${A-}\"'", true},
		"no lock is left":        {"rowlock run a -- true; rowlock run a -- true", true},
		"folder":                 {"rowlock run a -- touch here; test -e here", true},
		"inner rowlock":          {"rowlock run a -- rowlock run b -- touch here; test -e here", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorkplace(t)
			w.env = append(w.env, "ROWLOCK_STORE=sqlite:locks.db")
			output, err := w.evaluate(t, "set -eu\n"+test.script+"\n")
			assert.Equal(t, test.right, err == nil, "%v\n%s", err, output)
		})
	}
}

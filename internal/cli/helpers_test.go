package cli

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// call runs the command in this process, and returns its exit code and its output.
func call(t *testing.T, env []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	dir := t.TempDir()
	files := map[string]*os.File{}
	for _, name := range []string{"in", "out", "err"} {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		files[name] = f
	}
	code = Main(ctx, args, system.Stdio{In: files["in"], Out: files["out"], Err: files["err"], Env: env})
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		return string(text)
	}
	return code, read("out"), read("err")
}

// commands returns every subcommand. The keys are the words of the command line, such as "migrate up".
func commands(t *testing.T) map[string]*cobra.Command {
	t.Helper()
	all := map[string]*cobra.Command{}
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		all[strings.TrimPrefix(strings.TrimPrefix(c.CommandPath(), "rowlock"), " ")] = c
		for _, sub := range c.Commands() {
			if !sub.IsAdditionalHelpTopicCommand() {
				walk(sub)
			}
		}
	}
	walk((&app{}).rootCommand())
	require.Contains(t, all, "run")
	return all
}

// rowlockMain runs the command in this process, without the environment variables that name a store.
func rowlockMain(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]*os.File{}
	for _, name := range []string{"in", "out", "err"} {
		f, err := os.Create(filepath.Join(dir, name))
		require.NoError(t, err)
		defer f.Close()
		files[name] = f
	}
	code = Main(t.Context(), args, system.Stdio{In: files["in"], Out: files["out"], Err: files["err"], Env: []string{"ROWLOCK_STORE=sqlite:/nowhere/at/all"}})
	for name, text := range map[string]*string{"out": &stdout, "err": &stderr} {
		b, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		*text = string(b)
	}
	return code, stdout, stderr
}

// texts calls the function do for each string literal in the module's Go files except tests. This includes each error,
// message and help text.
func texts(t *testing.T, do func(position token.Position, text string)) {
	t.Helper()
	const root = "../.."
	apart := map[string]bool{"compat_test": true, "bench": true, "examples": true, "tools": true, ".git": true, "dist": true, "testdata": true}
	files := token.NewFileSet()
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && apart[entry.Name()]:
			return fs.SkipDir
		case entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				text, err := strconv.Unquote(literal.Value)
				require.NoError(t, err)
				do(files.Position(literal.Pos()), text)
			}
			return true
		})
		return nil
	}))
}

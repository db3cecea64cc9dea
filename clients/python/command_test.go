//go:build unix

package python_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// "rowlock locktest" prints a line for each case and a summary. Its exit code says whether a case failed.
func TestTheCommand(t *testing.T) {
	t.Parallel()
	dsn := newStore(t, "postgres").url
	interpreter := python(t)
	for name, c := range map[string]struct {
		args []string
		code int
		out  string
	}{
		"passes":  {[]string{"--case=excludes", "--", interpreter, "conformance.py"}, exit.OK, `^ok       excludes \(\d+\.\d s\)\n1 passed, 0 failed, 0 not run\n$`},
		"not run": {[]string{"--case=pause-closes", "--", interpreter, "conformance.py"}, exit.OK, `^not run  pause-closes: .*\n0 passed, 0 failed, 1 not run\n$`},
		"fails": {
			[]string{"--case=release-compares-nonce", "--", interpreter, "testdata/broken.py", "releases without the nonce"},
			exit.Problem, `^FAILED   release-compares-nonce: broken promise: (.|\n)*\n0 passed, 1 failed, 0 not run\n$`,
		},
		"no such case":    {[]string{"--case=no-such-case", "--", interpreter, "conformance.py"}, exit.Usage, `^$`},
		"no program":      {nil, exit.Usage, `^$`},
		"no such program": {[]string{"--", "/no/such/program"}, exit.Unavailable, `^$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out, errs := file(t), file(t)
			code := cli.Main(t.Context(), append([]string{"locktest", "--store=" + dsn}, c.args...), system.Stdio{
				In: os.Stdin, Out: out, Err: errs, Env: os.Environ(),
			})
			assert.Equal(t, c.code, code, written(t, errs))
			assert.Regexp(t, c.out, written(t, out))
		})
	}
}

func file(t *testing.T) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "output"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = f.Close() })
	return f
}

func written(t *testing.T, f *os.File) string {
	t.Helper()
	text, err := os.ReadFile(f.Name())
	require.NoError(t, err)
	return string(text)
}

package cli

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/spf13/pflag"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// Completion proposes subcommands, options, and option values that are one of a few words. It proposes file names only
// for arguments that are files.
func TestCompletion(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"do":                            "doctor\tFind problems of the store",
		"migrate pri":                   "print\tWrite the migrations",
		"run --handover-d":              "--handover-delay\t",
		"run --on-conflict ":            "wait\nskip\nfail\n:4\n",
		"status --log-format ":          "text\njson\n:4\n",
		"history --limit ":              ":4\n",
		"status ":                       ":4\n",
		"completion ":                   "bash\nzsh\nfish\npowershell\n:4\n",
		"run job -- ./":                 ":0\n", // a file
		"--store sqlite:x ls --all-na":  "--all-namespaces\t",
		"doctor --json --log-format te": "text\n",
	} {
		code, stdout, stderr := call(t, nil, append([]string{"__complete"}, strings.Split(line, " ")...)...)
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, want, line)
	}
	for _, shell := range shells {
		code, stdout, stderr := call(t, nil, "completion", shell)
		require.Zero(t, code, stderr)
		assert.Contains(t, stdout, "__complete", shell)
		if path, err := exec.LookPath(shell); err == nil && shell == "bash" {
			check := exec.CommandContext(t.Context(), path, "-n")
			check.Stdin = strings.NewReader(stdout)
			output, err := check.CombinedOutput()
			assert.NoError(t, err, "%s", output)
		}
	}
	for _, args := range [][]string{{"completion"}, {"completion", "csh"}, {"completion", "bash", "zsh"}} {
		code, stdout, stderr := call(t, nil, args...)
		assert.Equal(t, exit.Usage, code)
		assert.Empty(t, stdout)
		assert.Contains(t, stderr, "say for which shell")
	}
}

// The manual page contains every subcommand, every option except --help and --version, and every exit code. No line of a help text is interpreted as
// a roff request. If groff is installed, groff reports no warning.
func TestManual(t *testing.T) {
	t.Parallel()
	code, page, stderr := call(t, nil, "man")
	require.Zero(t, code, stderr)
	for path, cmd := range commands(t) {
		if cmd.Hidden || cmd.Name() == "help" {
			continue
		}
		assert.Contains(t, page, roff(usageLine(cmd)), path)
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if f.Name != "help" && f.Name != "version" {
				assert.Contains(t, page, roff("--"+f.Name), path)
				assert.Contains(t, page, roff(f.Usage), path)
			}
		})
	}
	for _, c := range exit.Codes {
		assert.Contains(t, page, roff(c.Meaning))
	}
	requests := []string{".TH ", ".SH ", ".B ", ".TP", ".PP", ".br", ".nf", ".fi"}
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			known := false
			for _, request := range requests {
				known = known || strings.HasPrefix(line, request)
			}
			assert.True(t, known, line)
		}
	}
	groff, err := exec.LookPath("groff")
	if err != nil {
		t.Log("there is no groff here")
		return
	}
	check := exec.CommandContext(t.Context(), groff, "-man", "-Tutf8", "-K", "utf8", "-ww", "-z")
	check.Stdin = strings.NewReader(page)
	output, err := check.CombinedOutput()
	assert.NoError(t, err)
	assert.Empty(t, string(output))
}

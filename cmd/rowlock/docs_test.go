//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/docs"
	"github.com/rowlock/rowlock/internal/testenv"
)

// consoleTimeout limits the time for the commands of one page. Some pages build a program, or use ten servers.
const consoleTimeout = 5 * time.Minute

// notRun maps each command that this test skips to the reason.
var notRun = map[string]string{
	"make ":        "it runs these tests, or takes minutes",
	"git clone ":   "it is this repository",
	"cd rowlock":   "the same",
	"go install ":  "the tests build the command",
	"printf '#!":   "the tests have a job of their own",
	"mkdir -p ../": "the page has a folder of its own",
	"etcdctl ":     "it does not come with the server; TestLeastPrivileges has the same privileges",
	"etcdutl ":     "it does not come with the server; TestARestoredSnapshot restores in the same way",
	"zkCli.sh ":    "it does not come with the server; TestLeastPrivileges has the same privileges",
	"kubectl ":     "it needs a cluster; examples/deploy checks the files",
	"systemctl ":   "it needs systemd; examples/deploy checks the files",
	"install ":     "it writes into the system's folders",
	"journalctl ":  "it needs systemd",
	"redlocks://":  "the servers do not vote in the first minutes; rediss tests TLS",
	"rowlock demo": "TestScripts and package cli run it, and it takes seconds",
}

// slow maps the pages that TestConsolesRun omits to the reason.
var slow = map[string]string{
	"docs/tls.md":      "it needs database servers with certificates, which take seconds to start",
	"docs/tutorial.md": "its last commands need the program that it builds",
}

// builds matches the commands that build a Go program. TestGoIsCompiled compiles the Go blocks of all pages.
var builds = regexp.MustCompile(`^go (mod|get|run \.( |$))`)

// TestConsolesRun runs the console blocks of every page, from the top to the bottom of the page, as if a reader pasted
// it. The commands use SQLite, or a test server in place of the store on the page. Each command must succeed,
// unless the next command prints its exit code. The output must equal the output on the page, except for numbers,
// times and names of machines. This test omits slow pages and commands that build a program.
func TestConsolesRun(t *testing.T) {
	t.Parallel()
	ran := 0
	for page, c := range consoles(t) {
		c.steps = slices.DeleteFunc(c.steps, func(s *step) bool { return builds.MatchString(s.command) })
		if len(c.steps) == 0 || slow[page] != "" || racedPages != nil && !slices.Contains(racedPages, page) {
			continue
		}
		ran += len(c.steps)
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			c.run(t)
		})
	}
	require.NotZero(t, ran)
}

// TestCompatConsolesRun runs the pages that TestConsolesRun omits, and the pages with a command that TestConsolesRun
// omits. The pages do not run in parallel, because too many servers would then run at the same time.
func TestCompatConsolesRun(t *testing.T) {
	t.Parallel()
	for page, c := range consoles(t) {
		if slow[page] != "" || slices.ContainsFunc(c.steps, func(s *step) bool { return builds.MatchString(s.command) }) {
			t.Run(page, func(t *testing.T) {
				testenv.Compat(t)
				c.run(t)
			})
		}
	}
}

// consoles returns the commands of each page.
func consoles(t *testing.T) map[string]*console {
	t.Helper()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	pages, err := docs.Pages(root)
	require.NoError(t, err)
	of := map[string]*console{}
	for _, page := range pages {
		blocks, err := docs.Blocks(root, page)
		require.NoError(t, err)
		c := &console{root: root, stands: map[string]string{}}
		for _, b := range blocks {
			c.add(b)
		}
		of[page] = c
	}
	return of
}

// console contains the commands of one page of the docs. They run in order in one shell.
type console struct {
	root   string
	steps  []*step
	place  workplace
	ours   pair
	stands map[string]string // maps each store that the page names to the address of a test server
}

// step is one command of a page, or a file that the page tells the reader to write.
type step struct {
	block         docs.Block
	command, file string
	shown         []string
}

func (c *console) add(b docs.Block) {
	if file := b.File(); file != "" {
		c.steps = append(c.steps, &step{block: b, file: file})
	}
	if b.Language != "console" {
		return
	}
	var last *step
	for line := range strings.Lines(b.Text) {
		line = strings.TrimSuffix(line, "\n")
		command, ok := strings.CutPrefix(line, "$ ")
		switch {
		case ok:
			last = &step{block: b, command: command}
			c.steps = append(c.steps, last)
		case last != nil && strings.HasSuffix(last.command, `\`):
			last.command += "\n" + line
		case last != nil:
			last.shown = append(last.shown, line)
		}
	}
}

func (c *console) run(t *testing.T) {
	c.place = newWorkplace(t)
	// At a terminal, rowlock prints no notice about the default store. The shell here has no terminal. This value also
	// suppresses the notice.
	c.place.env = append(c.place.env, "ROWLOCK_STORE=local")
	c.furnish(t)
	var script strings.Builder
	var judged []int
	for i, s := range c.steps {
		switch {
		case s.file != "":
			block := filepath.Join(c.place.dir, fmt.Sprintf("block-%d", i))
			require.NoError(t, os.WriteFile(block, []byte(c.real(t, s.block.Text)), 0o600))
			fmt.Fprintf(&script, "mkdir -p %q && cp %q %q\n", filepath.Dir(s.file), block, s.file)
		case !excepted(s.command):
			fmt.Fprint(&script, asked(i, c.real(t, s.command)))
			judged = append(judged, i)
		}
	}
	c.finish(t, script.String())
	for _, i := range judged {
		assert.NoError(t, c.judge(i))
	}
}

// asked returns shell code that runs a command, and saves its output and its exit code. The next command of the page
// can also read this exit code, as $?. If the command runs in the background, the shell code waits until the command
// has started its work.
func asked(i int, command string) string {
	if strings.HasSuffix(command, "&") {
		command = "HOLD=1 " + command + "\nuntil [ -e \"$FOLDER/at-work\" ]; do sleep 0.02; done"
	}
	return fmt.Sprintf("exec >\"$FOLDER/out-%[1]d\" 2>&1; (exit $code)\n%[2]s\ncode=$?; echo $code >\"$FOLDER/code-%[1]d\"\n", i, command)
}

func (c *console) finish(t *testing.T, script string) {
	t.Helper()
	folder := c.place.dir
	script = "FOLDER='" + folder + "'; export FOLDER; code=0\n" + script + "touch \"$FOLDER/done\"\nwait\n"
	require.NoError(t, os.WriteFile(filepath.Join(folder, "script"), []byte(script), 0o600))
	output, err := c.place.command(t, consoleTimeout, "sh", "script").CombinedOutput()
	require.NoError(t, err, "%s", output)
}

// judge returns an error if the exit code or the output of a command differs from the page.
func (c *console) judge(i int) error {
	s := c.steps[i]
	out, err := os.ReadFile(filepath.Join(c.place.dir, fmt.Sprintf("out-%d", i)))
	code, err2 := os.ReadFile(filepath.Join(c.place.dir, fmt.Sprintf("code-%d", i)))
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("%s: %s: the command did not run: %w", s.block, s.command, err)
	}
	looked := i+1 < len(c.steps) && c.steps[i+1].command == "echo $?"
	if !looked && string(code) != "0\n" {
		return fmt.Errorf("%s: %s: exit code %s%s", s.block, s.command, code, out)
	}
	if page := strings.Join(s.shown, "\n"); page != "" && alike(page) != alike(string(out)) {
		return fmt.Errorf("%s: %s: the page shows\n%s\nand the output is\n%s", s.block, s.command, page, out)
	}
	return nil
}

func excepted(command string) bool {
	for what := range notRun {
		if strings.HasPrefix(command, what) || strings.Contains(what, "://") && strings.Contains(command, what) {
			return true
		}
	}
	return false
}

var (
	dates     = regexp.MustCompile(`\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d(\.\d+)?( UTC|Z)?`)
	spans     = regexp.MustCompile(`\b(\d+(\.\d+)?(h|ms|m|µs|s))+\b`)
	holders   = regexp.MustCompile(`\S+@\S+:\d+`)
	numbers   = regexp.MustCompile(`\d{4,}`)
	blanks    = regexp.MustCompile(` +`)
	otherwise = strings.NewReplacer("\t", " ")
)

// alike removes the parts of a text that differ between two runs.
func alike(text string) string {
	text = dates.ReplaceAllString(otherwise.Replace(text), "DATE")
	text = spans.ReplaceAllString(text, "SPAN")
	text = holders.ReplaceAllString(text, "HOLDER")
	text = numbers.ReplaceAllString(text, "NUMBER")
	return strings.TrimSpace(blanks.ReplaceAllString(text, " "))
}

// The method judge, with which TestConsolesRun checks a command, finds an exit code or an output that differs from the
// page.
func TestConsolesThatLieAreFound(t *testing.T) {
	t.Parallel()
	for text, right := range map[string]bool{
		"$ rowlock run a -- echo hi\nhi\n":                  true,
		"$ rowlock run a -- echo hi\nho\n":                  false,
		"$ rowlock run a -- false\n":                        false,
		"$ rowlock run a -- sh -c 'exit 7'\n$ echo $?\n7\n": true,
		"$ rowlock run a -- sh -c 'exit 7'\n$ echo $?\n8\n": false,
	} {
		c := &console{}
		c.add(docs.Block{Page: "a.md", Language: "console", Text: text})
		c.place = newWorkplace(t)
		c.place.env = append(c.place.env, "ROWLOCK_STORE=local")
		var script string
		for i, s := range c.steps {
			script += asked(i, s.command)
		}
		c.finish(t, script)
		var err error
		for i := range c.steps {
			err = errors.Join(err, c.judge(i))
		}
		assert.Equal(t, right, err == nil, "%s\n%v", text, err)
	}
}

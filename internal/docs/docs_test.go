package docs_test

import (
	"encoding/xml"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/internal/docs"
)

const root = "../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// testedBy maps the language of a block to the test that compiles or runs the blocks of that language. Each of these
// tests lists its own exceptions.
var testedBy = map[string]string{
	"go":      "TestGoIsCompiled",
	"sql":     "TestSQLRuns",
	"console": "TestConsolesRun",
	"sh":      "TestConsolesRun", // files that the commands of the page run
	"python":  "TestPythonRuns",
	"text":    "", // blocks without a language contain drawings and output of other programs
}

// Every block of every page has a language. For each language there is a test that compiles or runs its blocks.
func TestEveryBlockIsTested(t *testing.T) {
	t.Parallel()
	tests := testsOfTheProject(t)
	for _, b := range blocks(t, "") {
		test, ok := testedBy[b.Language]
		require.True(t, ok, "%s: no test knows blocks of %q", b, b.Language)
		require.True(t, test == "" || tests[test], "%s: there is no %s", b, test)
	}
}

// Every test that a page names exists.
func TestEveryTestThatIsNamedExists(t *testing.T) {
	t.Parallel()
	tests := testsOfTheProject(t)
	named := regexp.MustCompile("`((?:Test|Example)[A-Z][A-Za-z0-9_]*)[`/]")
	found := 0
	for page, text := range pages(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			found++
			assert.True(t, tests[m[1]], "%s names %s, which does not exist", page, m[1])
		}
	}
	require.NotZero(t, found)
}

// Every row of the table of guarantees names the test that checks the guarantee.
func TestEveryGuaranteeNamesItsTest(t *testing.T) {
	t.Parallel()
	lines := 0
	for _, line := range strings.Split(pages(t)["docs/guarantees.md"], "\n") {
		if strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "| ---") && !strings.HasPrefix(line, "| promise") {
			lines++
			assert.Regexp(t, "`(Test|Example)[A-Z]", line)
		}
	}
	require.Greater(t, lines, 20)
}

// Every link between pages leads to an existing file and heading.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings := regexp.MustCompile(`(?m)^#+ (.*)$`)
	anchors := func(text string) map[string]bool {
		found := map[string]bool{}
		for _, m := range headings.FindAllStringSubmatch(text, -1) {
			plain := regexp.MustCompile("[^a-z0-9 _-]").ReplaceAllString(strings.ToLower(m[1]), "")
			found[strings.ReplaceAll(plain, " ", "-")] = true
		}
		return found
	}
	all := pages(t)
	for page, text := range all {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			to := page
			if target != "" {
				to = filepath.ToSlash(filepath.Join(filepath.Dir(page), target))
				_, err := os.Stat(filepath.Join(root, to))
				assert.NoError(t, err, page)
			}
			if anchor != "" {
				assert.True(t, anchors(all[to])[anchor], "%s: no heading for %s", page, m[1])
			}
		}
	}
}

// Each diagram in docs is valid SVG, has a description in words, and is shown on a page.
func TestDrawingsAreWhole(t *testing.T) {
	t.Parallel()
	drawings, err := filepath.Glob(root + "/docs/diagrams/*.svg")
	require.NoError(t, err)
	require.NotEmpty(t, drawings)
	var all strings.Builder
	for _, text := range pages(t) {
		all.WriteString(text)
	}
	for _, path := range drawings {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		var svg struct {
			XMLName xml.Name `xml:"http://www.w3.org/2000/svg svg"`
			Title   string   `xml:"title"`
			Desc    string   `xml:"desc"`
		}
		require.NoError(t, xml.Unmarshal(text, &svg), path)
		assert.NotEmpty(t, svg.Title, path)
		assert.NotEmpty(t, svg.Desc, path)
		assert.Contains(t, all.String(), "diagrams/"+filepath.Base(path))
	}
}

// blocks returns the blocks in this language from all pages. If language is empty, it returns the blocks
// in every language.
func blocks(t *testing.T, language string) []docs.Block {
	t.Helper()
	all, err := docs.AllBlocks(root)
	require.NoError(t, err)
	var found []docs.Block
	for _, b := range all {
		if language == "" || b.Language == language {
			found = append(found, b)
		}
	}
	require.NotEmpty(t, found)
	return found
}

// pages returns a map from the path of each page to its text.
func pages(t *testing.T) map[string]string {
	t.Helper()
	names, err := docs.Pages(root)
	require.NoError(t, err)
	texts := map[string]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(root, name))
		require.NoError(t, err)
		texts[name] = string(text)
	}
	return texts
}

// testsOfTheProject returns the names of all tests and examples in all modules.
func testsOfTheProject(t *testing.T) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func ((?:Test|Example)\w*)\(`)
	for _, text := range sources(t, "_test.go") {
		for _, m := range function.FindAllStringSubmatch(text, -1) {
			found[m[1]] = true
		}
	}
	return found
}

// sources returns a map from the path of each file to its text. It contains the project's files whose path has the
// suffix in the parameter end.
func sources(t *testing.T, end string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, end) {
			return err
		}
		text, err := os.ReadFile(path)
		found[path] = string(text)
		return err
	})
	require.NoError(t, err)
	return found
}

// Every file that docs/architecture.md and docs/backend.md name exists.
func TestEveryFileThatIsNamedExists(t *testing.T) {
	t.Parallel()
	all := pages(t)
	named := regexp.MustCompile("`([a-z_/]+\\.(?:go|lua|sql))`").FindAllStringSubmatch(all["docs/architecture.md"]+all["docs/backend.md"], -1)
	require.Greater(t, len(named), 20)
	for _, m := range named {
		assert.FileExists(t, filepath.Join(root, m[1]))
	}
}

// If a test names a promise by its number, the page of guarantees has a promise with that number.
func TestEveryPromiseThatIsNamedExists(t *testing.T) {
	t.Parallel()
	guarantees, found := pages(t)["docs/guarantees.md"], 0
	named := regexp.MustCompile(`(?m)^// Promise (\d+)`)
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range named.FindAllSubmatch(text, -1) {
			found++
			assert.Contains(t, guarantees, "| **"+string(m[1])+".** ", path)
		}
		return err
	}))
	require.Greater(t, found, 50)
}

// The README can be read in three minutes: it is short, its lines are short, and it has one complete program
// that fits on a screen.
func TestTheReadmeIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	assert.LessOrEqual(t, len(strings.Fields(string(text))), 900, "words")
	for i, line := range strings.Split(string(text), "\n") {
		assert.LessOrEqual(t, utf8.RuneCountInString(line), 120, "README.md:%d", i+1)
	}
	programs := 0
	for _, b := range blocks(t, "go") {
		if b.Page != "README.md" || b.File() == "" {
			continue
		}
		programs++
		lines := 0
		for line := range strings.Lines(b.Text) {
			if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "// ") {
				lines++
			}
		}
		assert.LessOrEqual(t, lines, 30, b.String())
	}
	assert.Equal(t, 1, programs, "programs")
}

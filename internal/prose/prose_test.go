package prose

import (
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

const root = "../.."

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// exceptions lists sentences that may break a rule. An entry has the beginning of a path, a word of the sentence,
// and the reason.
var exceptions = []struct{ file, word, why string }{
	{"internal/prose/", "", "it names what it refuses"},
	{"docs/benchmarks/", ";", "captions that the benchmark writes"},
}

func excepted(s Sentence) bool {
	for _, e := range exceptions {
		if strings.HasPrefix(s.File, e.file) && strings.Contains(s.Text, e.word) {
			return true
		}
	}
	return false
}

// No page, comment or message has a word or a phrase that a rule forbids. With the environment variable
// PROSE=folder/, the test checks only the files in that folder.
func TestPlainWords(t *testing.T) {
	t.Parallel()
	only := os.Getenv("PROSE")
	for _, s := range sentences(t) {
		if excepted(s) || !strings.HasPrefix(s.File, only) {
			continue
		}
		for _, f := range Check(s) {
			t.Errorf("%s:%d: %q: %s\n\t%s", f.File, f.Line, f.Match, f.Instead, f.Text)
		}
	}
}

// No sentence of a page has more than 30 words, except in tables.
func TestPagesHaveShortSentences(t *testing.T) {
	t.Parallel()
	only := os.Getenv("PROSE")
	for _, s := range sentences(t) {
		if words := s.Words(); s.Kind == Page && words > 30 && !excepted(s) && strings.HasPrefix(s.File, only) {
			t.Errorf("%s:%d: %d words\n\t%s", s.File, s.Line, words, s.Text)
		}
	}
}

// Each rule rejects the sample sentence that breaks it, and no rule rejects the plain sample sentences.
func TestRules(t *testing.T) {
	t.Parallel()
	refused := func(text string) int { return len(Check(Sentence{Passage{Kind: Page}, text})) }
	for _, text := range []string{
		"Whoever holds it may write.", "He asks.", "It waits in vain.", "The waiter is told.", "It lets go.", "The grant is taken back.",
		"It is passed on.", "The name is not to be had.", "That is of no use.", "Locks and the like.", "All but for that.", "It asks again.",
		"It holds it no more.", "For ever.", "So is the next.", "One; two; three.", "The drama ends.",
	} {
		assert.NotZero(t, refused(text), text)
	}
	for _, text := range []string{
		"The release notifies the oldest waiter.", "It needs no more than one round trip.", "`he` is code.", "So the waiter polls.", "One; two.",
	} {
		assert.Zero(t, refused(text), text)
	}
}

// Sentences splits a passage at the end of each sentence, and not at abbreviations or inside code.
func TestSentences(t *testing.T) {
	t.Parallel()
	var got []string
	for _, s := range (Passage{Text: "A lock, e.g. one. **It** ends: Then `x. Y` (see z). open ends, etc. and so on: all"}).Sentences() {
		got = append(got, s.Text)
	}
	assert.Equal(t, []string{"A lock, e.g. one.", "**It** ends:", "Then `x. Y` (see z).", "open ends, etc. and so on: all"}, got)
	assert.Equal(t, 4, Sentence{Text: "Call `a b c` [there](x y) - now"}.Words())
}

// The package finds the passages of each kind of file, with their line numbers.
func TestPassages(t *testing.T) {
	t.Parallel()
	markdown, err := ofMarkdown("a.md", "# Title\n\nOne\ntwo.\n* item\n\n| a | b |\n```go\ncode\n```\n")
	require.NoError(t, err)
	assert.Equal(t, []Passage{{"a.md", 3, Page, "One two."}, {"a.md", 5, Page, "item"}, {"a.md", 7, Table, "| a | b |"}}, markdown)
	script, err := ofScript("a.sql", "-- Parameters: one.\n-- Result: two\n-- lines.\nSELECT 1 -- why\n")
	require.NoError(t, err)
	assert.Equal(t, []Passage{{"a.sql", 1, Comment, "Parameters: one."}, {"a.sql", 2, Comment, "Result: two lines."}, {"a.sql", 4, Comment, "why"}}, script)
	source, err := ofGo("a.go", "// Package a does.\n//\n//\tcode\npackage a\n\nvar x = \"one two three\"\nvar y = \"SELECT one two\"\n")
	require.NoError(t, err)
	assert.Equal(t, []Passage{{"a.go", 1, Comment, "Package a does."}, {"a.go", 6, Message, "one two three"}}, source)
}

// project reads all sentences of the project once.
var project = sync.OnceValues(func() (all []Sentence, err error) {
	passages, err := Project(root)
	for _, p := range passages {
		all = append(all, p.Sentences()...)
	}
	return all, err
})

// sentences returns all sentences of the project.
func sentences(t *testing.T) []Sentence {
	t.Helper()
	all, err := project()
	require.NoError(t, err)
	require.Greater(t, len(all), 10000)
	return all
}

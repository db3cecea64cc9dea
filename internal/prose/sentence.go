package prose

import (
	"regexp"
	"strings"
)

// Sentence is one sentence of a passage.
type Sentence struct {
	Passage
	Text string
}

// boundary matches the end of a sentence and the first letter of the next one. A sentence may begin with a name in
// lower case, but not after a colon.
var boundary = regexp.MustCompile("[.!?][)\"*`]* +[\\[(\"*`]*[A-Za-z]|:[)\"*`]* +[\\[(\"*`]*[A-Z]")

// abbreviations matches abbreviations whose full stop does not end a sentence.
var abbreviations = regexp.MustCompile(`(?:e\.g|i\.e|etc|vs|[A-Z])\.$`)

// Sentences splits a passage into its sentences. A colon before a capital letter also ends a sentence.
func (p Passage) Sentences() []Sentence {
	var found []Sentence
	rest := p.Text
	for from := 0; ; {
		at := boundary.FindStringIndex(masked(rest)[from:])
		if at == nil {
			break
		}
		end := from + at[0] + 1
		if abbreviations.MatchString(rest[:end]) {
			from = end
			continue
		}
		next := end + strings.IndexByte(rest[end:], ' ')
		found = append(found, Sentence{p, strings.TrimSpace(rest[:next])})
		rest, from = strings.TrimSpace(rest[next:]), 0
	}
	if rest = strings.TrimSpace(rest); rest != "" {
		found = append(found, Sentence{p, rest})
	}
	return found
}

// masked returns text with all code between backticks replaced, so that the code cannot end a sentence.
// The length stays the same.
func masked(text string) string {
	return codeSpan.ReplaceAllStringFunc(text, func(code string) string { return "`" + strings.Repeat("X", len(code)-2) + "`" })
}

var (
	codeSpan = regexp.MustCompile("`[^`]*`")
	link     = regexp.MustCompile(`\]\([^)]*\)`)
)

// Words returns the number of words in a sentence. Code between backticks is one word.
// The target of a link is not counted.
func (s Sentence) Words() int {
	plain := link.ReplaceAllString(codeSpan.ReplaceAllString(s.Text, "code"), "]")
	count := 0
	for _, word := range strings.Fields(plain) {
		if strings.ContainsFunc(word, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' }) {
			count++
		}
	}
	return count
}

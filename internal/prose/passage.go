// Package prose finds the texts of the project that people read: pages, comments and messages.
// Its tests check these texts for words and sentences that plain technical English avoids.
// Its command sample shows random sentences to a reader who has not seen the project.
package prose

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Kind is the kind of a passage.
type Kind string

const (
	Page    Kind = "page"    // text of a Markdown file, without code and tables
	Table   Kind = "table"   // a row of a table in Markdown
	Comment Kind = "comment" // a comment of Go, SQL or Lua
	Message Kind = "message" // a text of several words in Go: an error, a help text or other output
)

// Passage is some text that belongs together, such as a paragraph or a comment.
type Passage struct {
	File string // the path below the root, with slashes
	Line int    // where it begins
	Kind Kind
	Text string // on one line
}

// Project returns all passages of the files below root. It skips testdata, generated pages,
// and folders whose names begin with a dot.
func Project(root string) ([]Passage, error) {
	var all []Passage
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if name == "testdata" || name == "dist" || below != "." && strings.HasPrefix(name, ".") {
				return filepath.SkipDir
			}
			return nil
		}
		found, err := passages(path, filepath.ToSlash(below))
		all = append(all, found...)
		return err
	})
	return all, err
}

func passages(path, file string) ([]Passage, error) {
	var read func(file, text string) ([]Passage, error)
	switch filepath.Ext(path) {
	case ".go":
		read = ofGo
	case ".md":
		if filepath.Dir(file) == "docs/torture" && filepath.Base(file) != "README.md" { // a generated report of a run
			return nil, nil
		}
		read = ofMarkdown
	case ".sql", ".lua":
		read = ofScript
	default:
		return nil, nil
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return read(file, string(text))
}

// ofGo returns the comments of a Go file and its string literals of several words.
func ofGo(file, text string) ([]Passage, error) {
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []Passage
	for _, group := range parsed.Comments {
		line := set.Position(group.Pos()).Line
		for _, part := range paragraphs(group.Text()) {
			found = append(found, Passage{file, line, Comment, part})
		}
	}
	ast.Inspect(parsed, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		value, err := strconv.Unquote(literal.Value)
		if err == nil && len(strings.Fields(value)) >= 3 && !code.MatchString(value) {
			for _, part := range paragraphs(value) {
				found = append(found, Passage{file, set.Position(literal.Pos()).Line, Message, part})
			}
		}
		return true
	})
	return found, nil
}

// The pattern code matches string literals that are SQL statements or programs instead of messages.
var code = regexp.MustCompile(`(?m)^\s*(?:SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER|DROP|WITH|package|#!/|local|CALL|GRANT|SET|LISTEN|import)\b`)

// ofMarkdown returns the paragraphs, list items and table rows of a Markdown file.
func ofMarkdown(file, text string) ([]Passage, error) {
	var found []Passage
	var open *Passage
	fenced := false
	end := func() {
		if open != nil {
			found, open = append(found, *open), nil
		}
	}
	for i, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(trimmed, "```"):
			fenced = !fenced
			end()
		case fenced || trimmed == "" || strings.HasPrefix(trimmed, "#"):
			end()
		case strings.HasPrefix(trimmed, "|"):
			end()
			found = append(found, Passage{file, i + 1, Table, trimmed})
		default:
			if item.MatchString(trimmed) {
				end()
				trimmed = item.ReplaceAllString(trimmed, "")
			}
			if open == nil {
				open = &Passage{file, i + 1, Page, trimmed}
			} else {
				open.Text += " " + trimmed
			}
		}
	}
	end()
	return found, nil
}

var item = regexp.MustCompile(`^(?:[*-]|\d+\.) `)

// ofScript returns the comments of an SQL or Lua file. Comments on consecutive lines are one passage.
func ofScript(file, text string) ([]Passage, error) {
	var found []Passage
	var open *Passage
	for i, line := range strings.Split(text, "\n") {
		_, comment, ok := strings.Cut(line, "--")
		comment = strings.TrimSpace(comment)
		whole := ok && strings.HasPrefix(strings.TrimSpace(line), "--")
		if open != nil && (!whole || comment == "" || strings.HasPrefix(comment, "Result:") || strings.HasPrefix(comment, "Promise:")) {
			found, open = append(found, *open), nil
		}
		switch {
		case !ok || comment == "" || strings.HasPrefix(comment, "+goose"):
		case open != nil:
			open.Text += " " + comment
		default:
			open = &Passage{file, i + 1, Comment, comment}
		}
	}
	if open != nil {
		found = append(found, *open)
	}
	return found, nil
}

// paragraphs returns the paragraphs of a text, each as one line. Indented lines are left out.
func paragraphs(text string) []string {
	var found []string
	var open []string
	end := func() {
		if len(open) > 0 {
			found, open = append(found, strings.Join(open, " ")), nil
		}
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch {
		case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "\t"):
			end()
		default:
			if item.MatchString(strings.TrimSpace(line)) {
				end()
			}
			open = append(open, strings.TrimSpace(line))
		}
	}
	end()
	return found
}

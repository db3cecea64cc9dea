// Package docs reads the project's pages for tests. The tests compile or run every block of code, compare every figure
// with the benchmarks, and verify that every named test exists.
package docs

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Block is a fenced block of code on a page.
type Block struct {
	Page     string // the path below the root, with slashes
	Line     int    // the line number of the block's first line of code
	Language string
	Text     string
}

func (b Block) String() string { return fmt.Sprintf("%s:%d", b.Page, b.Line) }

// named matches the first line of a block that names a file: such a block is the whole file.
var named = regexp.MustCompile(`^(?://|--|#) ([\w./-]+\.(?:go|sql|sh))\n`)

// File returns the path that the first line of the block names, or an empty text if the block is not a whole file. The
// commands on the page refer to the file by that path.
func (b Block) File() string {
	if m := named.FindStringSubmatch(b.Text); m != nil {
		return m[1]
	}
	return ""
}

// Pages returns the Markdown files that people have written: those in the root, in examples, in clients and in docs,
// without the reports of torture runs.
func Pages(root string) ([]string, error) {
	pages := []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md", "examples/README.md", "clients/python/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		report := filepath.Base(filepath.Dir(path)) == "torture" && filepath.Base(path) != "README.md"
		if err != nil || filepath.Ext(path) != ".md" || report {
			return err
		}
		below, err := filepath.Rel(root, path)
		pages = append(pages, filepath.ToSlash(below))
		return err
	})
	slices.Sort(pages)
	return pages, err
}

// Blocks returns the fenced blocks of a page. A fence without an end is an error.
// Code that is indented instead of fenced is also an error, because it has no language.
func Blocks(root, page string) ([]Block, error) {
	text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		return nil, err
	}
	var blocks []Block
	var open *Block
	blank := false
	for i, line := range strings.Split(string(text), "\n") {
		language, fence := strings.CutPrefix(line, "```")
		switch {
		case fence && open == nil:
			open = &Block{Page: page, Line: i + 2, Language: language}
		case fence:
			blocks, open = append(blocks, *open), nil
		case open != nil:
			open.Text += line + "\n"
		case blank && (strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "    ")):
			return nil, fmt.Errorf("%s:%d: code that is only indented: put it between fences, with its language", page, i+1)
		}
		blank = line == ""
	}
	if open != nil {
		return nil, fmt.Errorf("%s: the block does not end", open)
	}
	return blocks, nil
}

// AllBlocks returns the blocks of all pages.
func AllBlocks(root string) ([]Block, error) {
	pages, err := Pages(root)
	if err != nil {
		return nil, err
	}
	var all []Block
	for _, page := range pages {
		blocks, err := Blocks(root, page)
		if err != nil {
			return nil, err
		}
		all = append(all, blocks...)
	}
	return all, nil
}

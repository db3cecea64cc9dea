package sqltable

import (
	"io/fs"
	"path"
	"strings"
)

// Statements are the files of a folder by verb: "acquire" is the text of acquire.sql, with the
// table's names, quoted with quote, in place of the default ones. A verb without a file is an empty
// text, which the tests of whoever embeds the files look for.
func (t Table) Statements(files fs.FS, folder, quote string) map[string]string {
	statements := map[string]string{}
	entries, _ := fs.ReadDir(files, folder)
	for _, e := range entries {
		text, _ := fs.ReadFile(files, path.Join(folder, e.Name()))
		statements[strings.TrimSuffix(e.Name(), ".sql")] = t.Rewrite(withoutComments(string(text)), quote)
	}
	return statements
}

// withoutComments drops the lines that hold a comment only: they are for the reader of the file,
// and a statement that is not prepared would carry them over the wire on each call.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSuffix(strings.TrimSpace(b.String()), ";")
}

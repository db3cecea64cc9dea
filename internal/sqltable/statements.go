package sqltable

import (
	"io/fs"
	"path"
	"strings"
)

// Statements maps verbs to the files of a folder: "acquire" is the text of acquire.sql. The table's names, quoted with
// quote, replace the default ones. A verb without a file is an empty text, which tests of the packages that embed the
// files detect.
func (t Table) Statements(files fs.FS, folder, quote string) map[string]string {
	statements := map[string]string{}
	entries, _ := fs.ReadDir(files, folder)
	for _, e := range entries {
		text, _ := fs.ReadFile(files, path.Join(folder, e.Name()))
		statements[strings.TrimSuffix(e.Name(), ".sql")] = t.Rewrite(withoutComments(string(text)), quote)
	}
	return statements
}

// withoutComments removes lines that are only a comment. A statement that is not prepared would send them to the server
// on each call.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSuffix(strings.TrimSpace(b.String()), ";")
}

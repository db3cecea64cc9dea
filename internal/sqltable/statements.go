package sqltable

import (
	"io/fs"
	"path"
	"strings"
)

// Statements reads the SQL files of a folder. The key of a statement is the file name without .sql: "acquire" for
// acquire.sql. The default table names are replaced by the names of t, quoted with quote. A key without a file yields
// an empty text. Tests of the packages that embed the files detect such keys.
func (t Table) Statements(files fs.FS, folder, quote string) map[string]string {
	statements := map[string]string{}
	entries, _ := fs.ReadDir(files, folder)
	for _, e := range entries {
		verb := strings.TrimSuffix(e.Name(), ".sql")
		statements[verb] = t.Statement(files, folder, verb, quote)
	}
	return statements
}

// Statement returns one of the texts that Statements returns. It reads no other file.
func (t Table) Statement(files fs.FS, folder, verb, quote string) string {
	text, _ := fs.ReadFile(files, path.Join(folder, verb+".sql"))
	return t.Rewrite(withoutComments(string(text)), quote)
}

// withoutComments removes the lines that contain only a comment, so that they are not sent to the server with each
// unprepared statement.
func withoutComments(text string) string {
	var b strings.Builder
	b.Grow(len(text))
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSuffix(strings.TrimSpace(b.String()), ";")
}

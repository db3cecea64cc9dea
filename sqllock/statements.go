package sqllock

import (
	"embed"
	"path"
	"strings"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements are the statements of one dialect by verb: "acquire" is the text of acquire.sql.
type statements map[string]string

// load reads every statement of sql/<dir>, with the names of t, quoted with quote, in place of the
// default ones. A verb without a file is an empty text, which a test looks for.
func load(t sqltable.Table, dir, quote string) statements {
	s := statements{}
	folder := path.Join("sql", dir)
	entries, _ := sqlFiles.ReadDir(folder)
	for _, e := range entries {
		text, _ := sqlFiles.ReadFile(path.Join(folder, e.Name()))
		verb := strings.TrimSuffix(e.Name(), ".sql")
		s[verb] = t.Rewrite(withoutComments(string(text)), quote)
	}
	return s
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

package fence

import (
	"embed"
	"path"
	"strings"

	"github.com/rowlock/rowlock/internal/sqltable"
)

//go:embed sql
var sqlFiles embed.FS

// statements are the statements of one dialect by verb: "check" is the text of check.sql.
type statements map[string]string

// load reads every statement of sql/<dir>, with the names of t, quoted with quote, in place of the
// default ones.
func load(t sqltable.Table, dir, quote string) statements {
	s := statements{}
	folder := path.Join("sql", dir)
	entries, _ := sqlFiles.ReadDir(folder)
	for _, e := range entries {
		text, _ := sqlFiles.ReadFile(path.Join(folder, e.Name()))
		s[strings.TrimSuffix(e.Name(), ".sql")] = t.Rewrite(withoutComments(string(text)), quote)
	}
	return s
}

// withoutComments drops the lines that hold a comment only: they are for the reader of the file.
func withoutComments(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(strings.TrimSpace(line), "--") {
			b.WriteString(line)
		}
	}
	return strings.TrimSpace(b.String())
}

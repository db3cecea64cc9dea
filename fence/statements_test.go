package fence

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/sqltable"
)

// Every statement file begins with three comment lines: its parameters, its result and its promise.
func TestStatementsSayWhatTheyPromise(t *testing.T) {
	t.Parallel()
	err := fs.WalkDir(sqlFiles, "sql", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := sqlFiles.ReadFile(path)
		lines := strings.SplitN(string(text), "\n", 4)
		if assert.Len(t, lines, 4, path) {
			assert.True(t, strings.HasPrefix(lines[0], "-- Parameters: "), path)
			assert.True(t, strings.HasPrefix(lines[1], "-- Result: "), path)
			assert.True(t, strings.HasPrefix(lines[2], "-- Promise: "), path)
		}
		return err
	})
	require.NoError(t, err)
}

// Every verb that the Go file of a dialect uses has a file in the dialect's folder. Every verb in the other Go files
// has a file in at least one folder. Every SQL file is used.
func TestEveryVerbHasAStatement(t *testing.T) {
	t.Parallel()
	table, err := sqltable.Parse("ops.jobs")
	require.NoError(t, err)
	shared := source(t, func(of string) bool { return !slices.Contains(dialects, of) })
	all := map[string]string{}
	for _, dir := range dialects {
		own := source(t, func(of string) bool { return of == dir })
		files := load(table, dir, `"`)
		for verb, text := range files {
			assert.NotEmpty(t, text, "%s/%s", dir, verb)
			assert.NotContains(t, text, "rowlock_lease", "%s/%s", dir, verb)
			family, _, _ := strings.Cut(verb, "_") // for example, protect_insert.sql belongs to the verb "protect"
			run := strings.Contains(shared+own, strconv.Quote(verb)) || strings.Contains(shared+own, strconv.Quote(family))
			assert.True(t, run, "%s/%s: no code runs it", dir, verb)
		}
		for _, use := range uses.FindAllStringSubmatch(own, -1) {
			assert.Contains(t, files, use[1], dir)
		}
		maps.Copy(all, files)
	}
	for _, use := range uses.FindAllStringSubmatch(shared, -1) {
		assert.Contains(t, all, use[1])
	}
}

var (
	dialects = []string{"postgres", "mysql", "sqlite"}
	uses     = regexp.MustCompile(`\.sql\["(\w+)"\]`)
)

// source returns the code of the Go files whose names begin with a word for which the function wanted returns true. It
// omits tests.
func source(t *testing.T, wanted func(word string) bool) string {
	t.Helper()
	var all strings.Builder
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		word, _, _ := strings.Cut(strings.TrimSuffix(file, ".go"), "_")
		if strings.HasSuffix(file, "_test.go") || !wanted(word) {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		all.Write(text)
	}
	return all.String()
}

package fence

import (
	"io/fs"
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

// Every statement opens with its contract, and is valid as it stands.
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

// Every verb that the source runs has a file in its dialect's folder, or in every one if the source is
// not a dialect's own, and every file is run.
func TestEveryVerbHasAStatement(t *testing.T) {
	t.Parallel()
	table, err := sqltable.Parse("ops.jobs")
	require.NoError(t, err)
	for _, dir := range dialects {
		source := sourceOf(t, dir)
		verbs := map[string]bool{}
		for _, match := range use.FindAllStringSubmatch(source, -1) {
			verbs[match[1]] = true
		}
		for verb, text := range load(table, dir, `"`) {
			assert.NotEmpty(t, text, "%s/%s", dir, verb)
			assert.NotContains(t, text, "rowlock_lease", "%s/%s", dir, verb)
			assert.Contains(t, source, strconv.Quote(verb), "%s: nobody runs it", dir)
			delete(verbs, verb)
		}
		assert.Empty(t, verbs, "%s: there is no such file", dir)
	}
}

var (
	dialects = []string{"postgres", "mysql", "sqlite"}
	use      = regexp.MustCompile(`\.sql\["(\w+)"\]`)
)

// sourceOf is the source for one dialect: its own files and those that are for all.
func sourceOf(t *testing.T, dialect string) string {
	t.Helper()
	var source strings.Builder
	files, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, file := range files {
		of, _, _ := strings.Cut(strings.TrimSuffix(file, ".go"), "_")
		if strings.HasSuffix(file, "_test.go") || of != dialect && slices.Contains(dialects, of) {
			continue
		}
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		source.Write(text)
	}
	return source.String()
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const source = `package a

import "fmt"

type box[T any] struct{ n T }

// put once said n = 1.
func (b *box[T]) put(n T) { b.n = n }

func total(list []int) (n int) {
	for _, i := range list {
		n += i // not n = 1
	}
	if n < 0 {
		n = 0
	}
	fmt.Println(n, "items",
		len(list))
	return n
}

func other(n int) int {
	n = 0
	return n
}
`

const statement = `-- Promise: WHERE id = 1 FOR SHARE.
SELECT n
  FROM box
 WHERE id = $1
   FOR SHARE -- not FOR UPDATE
 LIMIT $1
`

// folder creates a folder with a Go package and an SQL statement, and makes it the working folder of the test.
func folder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.MkdirAll("a", 0o700))
	for path, text := range map[string]string{
		"a/a.go":       source,
		"a/other.go":   "//go:build never\n\npackage a\n\nfunc total() { n = 0 }\n",
		"a/a_test.go":  "package a\n\nfunc tested() { n = 0 }\n",
		"a/select.sql": statement,
	} {
		require.NoError(t, os.WriteFile(filepath.FromSlash(path), []byte(text), 0o600))
	}
}

func mutate(t *testing.T, edits ...[]edit) map[string]string {
	t.Helper()
	texts, err := mutant{edits: both(edits...)}.mutated()
	require.NoError(t, err)
	all := map[string]string{}
	for path, text := range texts {
		all[filepath.ToSlash(path)] = string(text)
	}
	return all
}

// An edit changes only its function. White space and comments between the words do not matter.
func TestAnEditOfAFunction(t *testing.T) {
	folder(t)
	all := mutate(t, in("a", "total", "n = 0", "n = 7"))
	require.Len(t, all, 1)
	assert.Contains(t, all["a/a.go"], "if n < 0 {\n\t\tn = 7\n\t}")
	assert.Contains(t, all["a/a.go"], "func other(n int) int {\n\tn = 0\n")

	assert.Contains(t, mutate(t, in("a", "total", `fmt.Println( n,"items", len(list) )`, "fmt.Println()"))["a/a.go"], "\tfmt.Println()\n\treturn n")
	assert.Contains(t, mutate(t, in("a", "box.put", "b.n = n", ""))["a/a.go"], "func (b *box[T]) put(n T) {  }")
}

func TestAnEditOfAStatement(t *testing.T) {
	folder(t)
	all := mutate(t, file("a/select.sql", "WHERE id = $1 FOR SHARE", "WHERE id = $1"))
	assert.Equal(t, "-- Promise: WHERE id = 1 FOR SHARE.\nSELECT n\n  FROM box\n WHERE id = $1 -- not FOR UPDATE\n LIMIT $1\n", all["a/select.sql"])
}

// An edit sees the result of earlier edits of the same mutant. A package that is already imported is not imported
// twice.
func TestEditsOfOneMutant(t *testing.T) {
	folder(t)
	all := mutate(t,
		in("a", "total", "n += i", "n += os.Getpid()", "os", "fmt"),
		in("a", "other", "n = 0", "n = os.Getppid()", "os"),
		file("a/select.sql", "n", "1"))
	require.Len(t, all, 2)
	assert.Contains(t, all["a/a.go"], "package a; import \"os\"\n\nimport \"fmt\"\n")
	assert.Contains(t, all["a/a.go"], "n += os.Getpid() // not n = 1")
	assert.Contains(t, all["a/a.go"], "n = os.Getppid()")
	assert.Contains(t, all["a/select.sql"], "SELECT 1\n")

	m := mutant{edits: both(in(".", "Lease.Err", "", ""), in("a", "box.put", "", ""), in("a", "box.put", "", ""), file("a/select.sql", "", ""))}
	assert.Equal(t, "Lease.Err, a.box.put, a/select.sql", m.place())
}

// If an edit does not fit the source, the error names the function or the file.
func TestAnEditThatDoesNotFit(t *testing.T) {
	folder(t)
	for _, c := range []struct {
		edits []edit
		says  string
	}{
		{in("a", "sum", "n = 0", ""), "there is no function a.sum, which should have the words to replace: n = 0"},
		{in("a", "put", "b.n = n", ""), "there is no function a.put,"},
		{in("a", "tested", "n = 0", ""), "there is no function a.tested,"},
		{in("a", "other", "n = 1", ""), "a.other no longer contains the words to replace: n = 1"},
		{in("a", "total", "n = 1", ""), "a.total no longer contains the words to replace: n = 1"}, // only a comment has these words
		{in("a", "total", "list", ""), "a.total contains the words to replace 2 times instead of once: list"},
		{in("a", "total", "", ""), "a.total no longer contains the words"},
		{in("b", "total", "n = 0", ""), "b.total: "},
		{file("a/select.sql", "FOR UPDATE", ""), "a/select.sql no longer contains the words to replace: FOR UPDATE"},
		{file("a/select.sql", "id = 1", ""), "a/select.sql no longer contains the words"},
		{file("a/select.sql", "SHARE.", ""), "a/select.sql no longer contains the words"},
		{file("a/select.sql", "o", ""), "a/select.sql no longer contains the words"}, // only whole words match
		{file("a/select.sql", "$1", ""), "a/select.sql contains the words to replace 2 times instead of once: $1"},
		{file("a/none.sql", "n", ""), "a/none.sql"},
	} {
		texts, err := mutant{edits: c.edits}.mutated()
		assert.ErrorContains(t, err, c.says)
		assert.Empty(t, texts)
	}
}

// If an edit removes the words that a later edit replaces, the later edit returns an error.
func TestEditsThatCollide(t *testing.T) {
	folder(t)
	_, err := mutant{edits: both(in("a", "other", "n = 0", ""), in("a", "other", "n = 0", ""))}.mutated()
	assert.ErrorContains(t, err, "a.other no longer contains the words to replace: n = 0")
}

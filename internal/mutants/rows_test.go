package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Each row of the table names changes that the generator can make today.
func TestTheRowsFitTheSource(t *testing.T) {
	t.Chdir("../..")
	names := map[string]bool{}
	for _, m := range mutants() {
		texts, err := m.mutated()
		assert.NoError(t, err, m.name)
		assert.NotEmpty(t, texts, m.name)
		assert.False(t, names[m.name], "two rows have the name %q", m.name)
		names[m.name] = true
	}
}

// folder creates a module with one package, and makes it the working folder of the test.
func folder(t *testing.T) {
	t.Helper()
	t.Chdir(t.TempDir())
	for path, text := range map[string]string{
		"own/a.go":       "package own\n\nimport _ \"embed\"\n\n//go:embed sql/a.sql\nvar text string\n\nfunc f(n int) bool { return n == 1 }\n\nfunc g(n int) { n++; n++ }\n",
		"own/a_test.go":  "package own\n\nfunc tested(n int) { n++ }\n",
		"own/other.go":   "//go:build never\n\npackage own\n\nfunc f(n int) { n++ }\n",
		"own/sql/a.sql":  "SELECT 1 FROM box FOR SHARE",
		"own/sql/b.sql":  "SELECT 1 FROM box FOR SHARE",
		"own/sql/no.txt": "FOR SHARE",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
}

// A mutant may change several places, also of one file. The files are those that are built on this system or embedded.
func TestAMutantOfSeveralChanges(t *testing.T) {
	folder(t)
	m := mutant{sites: in("own", "g: drop n++ #1/2", "f: return n -> true", "sql/a.sql: drop FOR SHARE")}
	texts, err := m.mutated()
	require.NoError(t, err)
	require.Len(t, texts, 2)
	assert.Contains(t, string(texts["own/a.go"]), "return true || (n == 1) }\n\nfunc g(n int) { ; n++ }")
	assert.Equal(t, "SELECT 1 FROM box ", string(texts["own/sql/a.sql"]))
	assert.Equal(t, "own/g, own/f, own/sql/a.sql", m.place())

	_, err = mutant{sites: in("own", "f: return n -> true", "f: n == -> !=")}.mutated()
	assert.ErrorContains(t, err, "two changes of one mutant overlap")
}

// If a row does not fit, the error lists what the function offers now, or which functions offer such a change.
func TestARowThatDoesNotFit(t *testing.T) {
	folder(t)
	for change, others := range map[string]string{
		"g: drop n++":               "g: drop n++ #1/2\n\tg:",
		"h: n == -> !=":             "f: n == -> !=",
		"tested: n == -> !=":        "f: n == -> !=",
		"sql/b.sql: drop FOR SHARE": "sql/a.sql: drop FOR SHARE",
	} {
		_, err := mutant{sites: in("own", change)}.mutated()
		assert.ErrorContains(t, err, fmt.Sprintf("package own has no change %q. Choose one of these:\n\t%s", change, others))
	}
}

// The same seed draws the same changes in the same order from functions that are as they were. Another seed does not.
func TestTheDrawDependsOnSeedAndIdentityOnly(t *testing.T) {
	drawn := func(seed uint64, text string) (all []string) {
		changes := numbered(must(changesOfGo("p.go", text)))
		draw{seed: seed, pkg: "p"}.order(changes)
		for _, c := range changes {
			if c.place == "f" {
				all = append(all, c.String())
			}
		}
		return all
	}
	const f = "func f(a, b, c bool) bool {\n\tif a && b || c {\n\t\treturn false\n\t}\n\treturn true\n}\n"
	first := drawn(1, "package p\n\n"+f)
	assert.Equal(t, first, drawn(1, "package p\n\nfunc g(n int) bool { return n == 1 }\n\n"+f))
	assert.NotEqual(t, first, drawn(2, "package p\n\n"+f))
	assert.ElementsMatch(t, first, drawn(2, "package p\n\n"+f))
}

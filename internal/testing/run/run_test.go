package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// module returns a new module with three packages. Two of them have the same name, and one has a test that fails.
func module(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module example.org/m\n\ngo 1.26\n",
		"a/x/x_test.go":      "package x\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestFolder(t *testing.T) {\n\tif _, err := os.Stat(\"x_test.go\"); err != nil {\n\t\tt.Error(err)\n\t}\n}\n",
		"b/x/x_test.go":      "package x\n\nimport \"testing\"\n\nfunc TestBoth(t *testing.T) {\n\tt.Run(\"good\", func(*testing.T) {})\n\tt.Run(\"bad\", func(t *testing.T) { t.Error(\"as it should\") })\n}\n",
		"without/without.go": "package without\n",
	} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	return dir
}

// Packages of the same name are built apart, each runs in its own folder, and the run fails if one of them does.
func TestEachPackageRuns(t *testing.T) {
	t.Parallel()
	dir := module(t)
	o := options{modules: dir, first: filepath.Join(dir, "b/x"), parallel: 1, together: 2, repeat: 1, limit: time.Minute}
	packages, err := list(t.Context(), o, nil)
	require.NoError(t, err)
	require.Len(t, packages, 2, "a package without tests is left out")
	require.Equal(t, "example.org/m/b/x", packages[0].path, "-first")
	require.NoError(t, build(t.Context(), o, packages, t.TempDir()))

	bad, good := o.test(t.Context(), packages[0], false), o.test(t.Context(), packages[1], false)
	assert.NoError(t, good.err, "%s", good.output)
	assert.Error(t, bad.err)
	assert.Contains(t, string(bad.output), "as it should")
	assert.Positive(t, bad.used)
	assert.ErrorContains(t, execute(t.Context(), o, packages), "1 of 2 runs failed")

	o.skip = "^TestBoth$/^bad$"
	assert.NoError(t, execute(t.Context(), o, packages))
}

// A pattern that matches no tests is an error, so that a mistyped package is not a success.
func TestNoPackageIsAnError(t *testing.T) {
	t.Parallel()
	dir := module(t)
	_, err := list(t.Context(), options{modules: filepath.Join(dir, "nowhere")}, nil)
	require.Error(t, err)
	_, err = list(t.Context(), options{}, nil)
	require.ErrorContains(t, err, "has tests")
}

// The shares count the subtests that failed, and runs that named no test.
func TestShares(t *testing.T) {
	t.Parallel()
	failed := errors.New("exit status 1")
	p, q := pkg{path: "p"}, pkg{path: "q"}
	var out bytes.Buffer
	printShares(&out, []result{
		{of: p}, {of: p}, {of: p},
		{of: p, err: failed, output: []byte("--- FAIL: TestA (0.00s)\n    --- FAIL: TestA/sub (0.00s)\n--- FAIL: TestAB (0.01s)\nFAIL\n")},
		{of: q, err: failed, output: []byte("panic: test timed out after 1s\n")},
	})
	require.Equal(t, "p\tTestA/sub\tfailed in 1 of 4 runs (25 %)\np\tTestAB\tfailed in 1 of 4 runs (25 %)\n"+
		"q\t(no test is named: exit status 1)\tfailed in 1 of 1 runs (100 %)\n", out.String())
	out.Reset()
	printShares(&out, []result{{of: p}})
	require.Equal(t, "no test failed in 1 runs\n", out.String())
}

// The loops use processor time until they are stopped.
func TestTheLoadEnds(t *testing.T) {
	stop := keepBusy(2)
	stop()
}

func TestNamesOfPrograms(t *testing.T) {
	t.Parallel()
	for path, name := range map[string]string{"a/b": "b", "a/b/v2": "b", "a/v1": "v1", "a/vx": "vx", "m": "m"} {
		require.Equal(t, name, nameOf(path), path)
	}
}

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// generate makes each kind of change at every place in the source where it is possible.
func TestChangesOfAFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.go")
	source := `package a

import "errors"

const half = 10 / 2

func f(n int, on bool) (total int, err error) {
	defer print("done")
	if on {
		total = n
	}
	if n < half && on {
		total++
	}
	select {
	default:
		print(func() bool { return n == 1 })
	}
	return total, errors.New("n is " + "small")
}
`
	require.NoError(t, os.WriteFile(file, []byte(source), 0o600))
	changes, err := generate(file)
	require.NoError(t, err)
	var made []string
	for _, c := range changes {
		c.file = "a.go"
		made = append(made, c.String())
	}
	assert.ElementsMatch(t, []string{
		"a.go:5: `/` becomes `*`",
		"a.go:8: without `defer print(\"done\")`",
		"a.go:9: `on` becomes `!(on)`",
		"a.go:10: without `total = n`",
		"a.go:12: `<` becomes `<=`",
		"a.go:12: `<` becomes `>=`",
		"a.go:12: `&&` becomes `||`",
		"a.go:12: `n < half && on` becomes `!(n < half && on)`",
		"a.go:13: `++` becomes `--`",
		"a.go:13: without `total++`",
		"a.go:17: without `print(func() bool { return n == 1 })`",
		"a.go:17: `==` becomes `!=`",
		"a.go:17: `n == 1` becomes `!(n == 1)`",
		"a.go:19: `errors.New(\"n is \" + \"small\")` becomes `nil`",
	}, made)
	texts, err := changes[0].mutated()
	require.NoError(t, err)
	assert.Contains(t, string(texts[file]), "const half = 10 * 2\n")
}

// A test covers a change in a block that it executes. The expressions of a case are in no block. A test covers a change
// in such an expression if the test executes the function.
func TestCovers(t *testing.T) {
	inBlock := change{file: "p/a.go", function: [2]int{1, 9}}
	inBlock.at.Line, inBlock.at.Column = 3, 5
	inCase := inBlock
	inCase.at.Line = 7
	outside := change{file: "p/a.go"}
	entry, other := block{"a.go", [2]int{1, 10}, [2]int{2, 4}, true}, block{"b.go", [2]int{1, 1}, [2]int{9, 9}, true}
	body := block{"a.go", [2]int{3, 1}, [2]int{4, 9}, false}

	enters := covering{blocks: []block{entry, body, other}}
	assert.False(t, enters.covers(inBlock))
	assert.True(t, enters.covers(inCase))
	assert.True(t, enters.covers(outside))

	body.ran = true
	assert.True(t, covering{blocks: []block{entry, body}}.covers(inBlock))
	assert.False(t, covering{blocks: []block{other}}.covers(inCase))
}

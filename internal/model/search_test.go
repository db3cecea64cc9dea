package model_test

import (
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/model"
)

type number uint8

func (n number) String() string { return strconv.Itoa(int(n)) }

// calculator is a model of a number that starts with one. Each step doubles it or adds one.
type calculator struct{ largest number }

func (calculator) Start() number { return 1 }

func (c calculator) Next(n number, add func(model.Step, number)) {
	if n < c.largest {
		add(model.Step{Who: "it", What: "increments"}, n+1)
	}
	if n <= c.largest/2 {
		add(model.Step{Who: "it", What: "doubles"}, 2*n)
	}
}

// A search visits every state once, and reports the largest depth.
func TestSearchVisitsAll(t *testing.T) {
	r := model.Search(calculator{largest: 20}, func(number) bool { return false })
	assert.Equal(t, 20, r.States)
	assert.Equal(t, 6, r.Depth, "no number is farther than 19: 2, 4, 8, 9, 18, 19")
	assert.Empty(t, r.Trace)
	assert.Equal(t, map[string]bool{"increments": true, "doubles": true}, r.Taken)
}

// If there is a violation, the search returns a shortest path to it, with one line for each step.
func TestSearchFindsAShortestTrace(t *testing.T) {
	r := model.Search(calculator{largest: 20}, func(n number) bool { return n == 10 })
	assert.Len(t, r.Trace, 4)
	assert.Regexp(t, `^it \w+ +2$`, r.Trace[0])
	assert.Regexp(t, `^it doubles +10$`, r.Trace[3])
	assert.Less(t, r.States, 20)
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each defect still fits the source: the words that it replaces occur exactly once.
func TestTheDefectsFitTheSource(t *testing.T) {
	t.Chdir("../..")
	for _, m := range mutants() {
		texts, err := m.mutated()
		assert.NoError(t, err, m.name)
		assert.NotEmpty(t, texts, m.name)
	}
}

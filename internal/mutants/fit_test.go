package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Each defect still fits the source: what it replaces is there, and once.
func TestTheDefectsFitTheSource(t *testing.T) {
	t.Chdir("../..")
	for _, m := range mutants() {
		texts, err := m.mutated()
		assert.NoError(t, err)
		assert.NotEmpty(t, texts, m.name)
	}
}

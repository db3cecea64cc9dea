package redisbase

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// Slots match the Cluster specification.
func TestSlot(t *testing.T) {
	assert.Equal(t, 12739, Slot("123456789"))
	assert.Equal(t, Slot("user1000"), Slot("{user1000}.following"))
}

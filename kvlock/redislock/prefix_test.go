package redislock_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/kvlock/internal/redistest"
	"github.com/rowlock/rowlock/kvlock/redislock"
)

// A prefix with an opening brace must have a hash tag. Otherwise the record of a slot would be in another slot.
func TestPrefixesWithBraces(t *testing.T) {
	c := redistest.Connect(t, "127.0.0.1:1")
	for prefix, fits := range map[string]bool{"{locks}:": true, "a{locks}b:": true, "}:": true, "a{b:": false, "{}a:": false, "{:": false} {
		err := redislock.New(c, redislock.Prefix(prefix)).Capabilities().Invalid
		if fits {
			assert.NoError(t, err, prefix)
		} else {
			assert.ErrorContains(t, err, "hash tag", prefix)
		}
	}
}

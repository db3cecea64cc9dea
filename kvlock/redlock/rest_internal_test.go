package redlock

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

// If a notification arrives while a request to all nodes is running, the waiter does not rest after its refusal.
func TestANotificationDuringARequestEndsTheRest(t *testing.T) {
	t.Parallel()
	r, key := rests{byKey: make(map[driver.Key]*rest)}, driver.Key{Name: "job"}
	first := r.begin(key)
	assert.True(t, r.list(key, first))
	one, before := r.poll(key)
	assert.Same(t, first, one)
	assert.Zero(t, before)
	_, before = r.poll(key)
	assert.Equal(t, 1, before)

	second := r.begin(key)
	r.end(key)
	assert.False(t, r.list(key, second))
	one, _ = r.poll(key)
	assert.Nil(t, one)

	r.begin(key)
	one, _ = r.poll(key)
	assert.Nil(t, one, "the nodes have not refused the request yet")
}

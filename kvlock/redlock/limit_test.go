package redlock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// The timeout of one node is NodeTimeout. By default it is a twentieth of the TTL, at most 100 ms. For the first
// contact, the timeout is a quarter of the TTL, at most a second, but not less than the timeout of one node.
func TestLimits(t *testing.T) {
	for _, c := range []struct{ option, ttl, limit, contact time.Duration }{
		{0, 30 * time.Second, 100 * time.Millisecond, time.Second},
		{0, time.Second, 50 * time.Millisecond, 250 * time.Millisecond},
		{0, 50 * time.Millisecond, 3 * time.Millisecond, 12500 * time.Microsecond},
		{2 * time.Second, time.Second, 2 * time.Second, 2 * time.Second},
	} {
		o := options{nodeTimeout: c.option}
		assert.Equal(t, c.limit, o.limit(c.ttl))
		assert.Equal(t, c.contact, o.contact(c.ttl))
	}
}

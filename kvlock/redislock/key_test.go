package redislock

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// No two locks share a key: what is encoded is decoded again, and has no hash tag of the name's own.
func FuzzKey(f *testing.F) {
	f.Add("", "nightly")
	f.Add("a:b", "c")
	f.Add("a", "b:c%3A{tag}\x00")
	f.Fuzz(func(t *testing.T, namespace, name string) {
		o := options{prefix: DefaultPrefix}
		key := o.encode(driver.Key{Namespace: namespace, Name: name})
		back, err := o.decode(key)
		require.NoError(t, err)
		assert.Equal(t, driver.Key{Namespace: namespace, Name: name}, back)
		assert.NotContains(t, key, "{")
	})
}

// Slots are those of the Cluster specification.
func TestSlot(t *testing.T) {
	assert.Equal(t, 12739, slot("123456789"))
	assert.Equal(t, slot("user1000"), slot("{user1000}.following"))
}

package redisbase

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Two locks never have the same key: each key decodes to the lock from which it was encoded. Namespaces and names
// never add a hash tag to a key.
func FuzzKey(f *testing.F) {
	f.Add("", "nightly")
	f.Add("a:b", "c")
	f.Add("a", "b:c%3A{tag}\x00")
	f.Fuzz(func(t *testing.T, namespace, name string) {
		const o = Prefix("rowlock:")
		key := o.Encode(driver.Key{Namespace: namespace, Name: name})
		back, err := o.Decode(key)
		require.NoError(t, err)
		assert.Equal(t, driver.Key{Namespace: namespace, Name: name}, back)
		assert.NotContains(t, key, "{")
	})
}

// Locks of two prefixes never have the same key, for any namespaces and names. No lock has the key of a server's
// record, or the name of a waiter's channel. The test tries all short texts that consist of special characters.
func TestPrefixesAreSeparate(t *testing.T) {
	texts := func(most int) []string {
		all := []string{""}
		for last := all; most > 0; most-- {
			var next []string
			for _, s := range last {
				for _, c := range "a:@%" {
					next = append(next, s+string(c))
				}
			}
			all, last = append(all, next...), next
		}
		return all
	}
	seen := make(map[string]string)
	prefixes := 0
	for _, prefix := range append(texts(5), "a:node:", "a:%waiter:") {
		o := Prefix(prefix)
		if o.Validate("test") != nil {
			continue
		}
		prefixes++
		note := func(key, what string) {
			if before, twice := seen[key]; twice {
				require.Equal(t, before, what, "both have the key %s", key)
			}
			seen[key] = what
		}
		note(o.Record(), "record of "+prefix)
		note(o.Waiters()+driver.NewNonce().String(), "channel of "+prefix)
		for _, namespace := range texts(2) {
			for _, name := range texts(2) {
				key := o.Encode(driver.Key{Namespace: namespace, Name: name})
				note(key, fmt.Sprintf("prefix %q, namespace %q, name %q", prefix, namespace, name))
			}
		}
	}
	assert.Greater(t, prefixes, 10)
}

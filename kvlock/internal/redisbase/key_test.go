package redisbase

import (
	"fmt"
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
		const o = Prefix("rowlock:")
		key := o.Encode(driver.Key{Namespace: namespace, Name: name})
		back, err := o.Decode(key)
		require.NoError(t, err)
		assert.Equal(t, driver.Key{Namespace: namespace, Name: name}, back)
		assert.NotContains(t, key, "{")
	})
}

// Locks of two prefixes never share a key, whatever the namespaces and names are; neither do a lock and what a server keeps beside the
// locks. All short texts of the characters that mean something are tried.
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

package driver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

func TestKeyForPeople(t *testing.T) {
	assert.Equal(t, "nightly", driver.Key{Name: "nightly"}.String())
	assert.Equal(t, "jobs/nightly", driver.Key{Namespace: "jobs", Name: "nightly"}.String())
}

// Check rejects what the engine rejects: see [driver.Key].
func TestKeyIsChecked(t *testing.T) {
	longest, space := strings.Repeat("n", driver.MaxName), strings.Repeat("s", driver.MaxNamespace)
	for want, key := range map[string]driver.Key{
		"":                  {Namespace: space, Name: longest},
		"name of 0 bytes":   {},
		"name of 513 bytes": {Name: longest + "n"},
		"namespace of 129":  {Namespace: space + "s", Name: "a"},
		"not valid UTF-8":   {Name: "a\xff"},
		"has a NUL byte":    {Namespace: "a\x00", Name: "a"},
	} {
		err := key.Check()
		if want == "" {
			assert.NoError(t, err)
			continue
		}
		assert.ErrorContains(t, err, want)
	}
}

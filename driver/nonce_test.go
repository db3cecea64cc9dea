package driver_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A nonce is a version 4 UUID, and no two are alike.
func TestNonceIsAVersion4UUID(t *testing.T) {
	seen := make(map[driver.Nonce]bool)
	for range 1000 {
		n := driver.NewNonce()
		assert.False(t, seen[n])
		seen[n] = true
		assert.Equal(t, byte('4'), n.String()[14], "version")
		assert.Contains(t, "89ab", string(n.String()[19]), "variant")
	}
}

// What ParseNonce takes, String writes back, but for the case of its digits.
func FuzzParseNonce(f *testing.F) {
	f.Add(driver.NewNonce().String())
	f.Add("")
	f.Add("00000000-0000-0000-0000-00000000000g")
	f.Fuzz(func(t *testing.T, s string) {
		n, err := driver.ParseNonce(s)
		if err != nil {
			return
		}
		again, err := driver.ParseNonce(n.String())
		require.NoError(t, err)
		assert.Equal(t, n, again)
		assert.Len(t, s, 36)
	})
}

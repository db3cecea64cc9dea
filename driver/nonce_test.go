package driver_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// A nonce is a version 4 UUID, and two nonces differ.
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

// ParseNonce and String are inverse, except that String writes hexadecimal digits in lower case.
func FuzzParseNonce(f *testing.F) {
	valid := driver.NewNonce().String()
	f.Add(valid)
	f.Add("")
	f.Add("00000000-0000-0000-0000-00000000000g")
	f.Add(valid + "0")
	for i, r := range valid {
		if r == '-' {
			f.Add(valid[:i] + "0" + valid[i+1:])
		}
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := driver.ParseNonce(s)
		if s == valid {
			require.NoError(t, err)
		}
		if err == nil {
			assert.Equal(t, strings.ToLower(s), n.String())
		} else {
			assert.Zero(t, n)
		}
	})
}

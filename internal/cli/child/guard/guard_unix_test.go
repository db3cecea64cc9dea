//go:build unix

package guard

import (
	"go/build"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The guard runs before most packages of the stores are initialized. This needs a package that imports only the standard
// library.
func TestOnlyTheStandardLibrary(t *testing.T) {
	t.Parallel()
	p, err := build.ImportDir(".", 0)
	require.NoError(t, err)
	for _, path := range p.Imports {
		first, _, _ := strings.Cut(path, "/")
		require.NotContains(t, first, ".", path)
	}
}

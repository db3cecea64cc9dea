package fence_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The Go code of docs/fencing.md comes from the examples, which are compiled and run.
func TestTheGuideShowsTheExamples(t *testing.T) {
	t.Parallel()
	var sources strings.Builder
	for _, pattern := range []string{"example*_test.go", "../examples/*/*.go"} {
		files, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, files, pattern)
		for _, f := range files {
			text, err := os.ReadFile(f)
			require.NoError(t, err)
			sources.Write(text)
		}
	}
	guide, err := os.ReadFile("../docs/fencing.md")
	require.NoError(t, err)
	blocks := regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(guide), -1)
	require.NotEmpty(t, blocks)
	for _, b := range blocks {
		assert.True(t, strings.Contains(sources.String(), b[1]), "in no example:\n%s", b[1])
	}
}

package fence

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// For every name of a resource, the server reads the SQL literal as exactly that name, and no text follows the literal.
func FuzzLiterals(f *testing.F) {
	for _, s := range []string{"", "'", `\`, `\'`, `'; DROP TABLE x; --`, "日本", "\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if strings.ContainsRune(s, 0) {
			return
		}
		for literal, escapes := range map[string]bool{quoted(s): strings.HasPrefix(quoted(s), "E"), doubled(s): false} {
			got, rest := readLiteral(strings.TrimPrefix(literal, "E"), escapes)
			assert.Equal(t, s, got, literal)
			assert.Empty(t, rest, literal)
		}
		if !strings.HasPrefix(quoted(s), "E") {
			assert.NotContains(t, quoted(s), `\`, "standard_conforming_strings does not matter")
		}
	})
}

// readLiteral reads a literal as a server does, and returns the text after it.
func readLiteral(text string, escapes bool) (value, rest string) {
	var b strings.Builder
	for i := 1; i < len(text); i++ {
		switch {
		case escapes && text[i] == '\\', text[i] == '\'' && strings.HasPrefix(text[i+1:], "'"):
			i++
			b.WriteByte(text[i])
		case text[i] == '\'':
			return b.String(), text[i+1:]
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String(), "no end"
}

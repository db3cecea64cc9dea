package sqllock_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Names are compared byte for byte: names that look alike but differ in case, trailing spaces, accents or code points
// are different locks. A name does not match a longer name that begins with it, and no name is truncated.
func TestNamesAreExact(t *testing.T) {
	long := strings.Repeat("x", driver.MaxName-1)
	keys := []driver.Key{
		{Name: "job"}, {Name: "Job"}, {Name: "job "}, {Name: " job"}, {Name: "jo"}, {Name: "job\t"}, {Name: "job\n"},
		{Name: "job", Namespace: "a"}, {Name: "job", Namespace: "A"}, {Name: "job", Namespace: "a "},
		{Name: "b", Namespace: "a"}, {Name: "a/b"}, {Name: "/b", Namespace: "a"}, {Name: "b", Namespace: "a/"},
		{Name: "é"}, {Name: "e\u0301"}, {Name: "e"}, {Name: "ß"}, {Name: "ss"}, {Name: "İ"}, {Name: "i"}, {Name: "😀"}, {Name: "😁"},
		{Name: "a\u2028b"}, {Name: "a\u0000b"[:1]}, {Name: `"quote"`}, {Name: "'"}, {Name: `\`}, {Name: "%"}, {Name: "_"}, {Name: "<&>"},
		{Name: long + "1"}, {Name: long + "2"}, {Name: long}, {Name: strings.Repeat("ü", driver.MaxName/2), Namespace: strings.Repeat("n", driver.MaxNamespace)},
	}
	eachBackend(t, func(t *testing.T, s *store) {
		b := s.open()
		var grants []driver.Grant
		var want []driver.Outcome
		for _, key := range keys {
			r := request("x")
			r.Key, r.Holder, r.Note = key, key.Name, "😀 '"
			grants = append(grants, acquire(t, b, r))
			want = append(want, driver.Renewed)
		}
		require.Equal(t, want, renew(t, b, grants...))
		list, err := b.List(t.Context(), "", true)
		require.NoError(t, err)
		require.Len(t, list, len(keys))
		for _, g := range grants {
			st, err := b.Inspect(t.Context(), g.Key)
			require.NoError(t, err)
			assert.Equal(t, g.Token, st.Token)
			assert.Equal(t, g.Key.Name, st.Holder)
			assert.Equal(t, "😀 '", st.Note)
			require.NoError(t, b.Release(t.Context(), g))
		}
	})
}

package cli

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// Of each name the last hundred runs and the last hundred refusals are kept, on every database, and what was written is
// read as it was, whatever the connection's character set.
func TestTheHistoryIsTrimmed(t *testing.T) {
	t.Parallel()
	for name, where := range map[string]func(testing.TB) string{
		"sqlite":   func(tb testing.TB) string { return "sqlite:" + filepath.Join(tb.TempDir(), "locks.db") },
		"postgres": testenv.Postgres,
		"mysql":    func(tb testing.TB) string { return testenv.MySQL(tb) + "?charset=latin1" },
		"mariadb":  testenv.MariaDB,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &app{store: where(t), table: "mine", std: Stdio{}}
			s, err := a.openUnmigrated(t.Context())
			require.NoError(t, err)
			defer s.close()
			require.NoError(t, migrations.Up(t.Context(), s.db, s.at.dialect, migrations.Table("mine")))

			key, other := driver.Key{Namespace: "space", Name: "täglich 🌍"}, driver.Key{Namespace: "space", Name: "other"}
			began := time.Now()
			s.record(record{key: other, outcome: outcomeExited, token: 1, holder: "somebody"})
			for i := range recordsKept + 3 { // the older ones first: each took a second less than the one before
				took := time.Duration(2*recordsKept-i) * time.Second
				s.record(record{key: key, outcome: outcomeTimeout, code: 124, token: driver.Token(i + 1), holder: "wer ✓", note: "wozu ✓", took: took, waited: time.Duration(i) * time.Microsecond})
				if i%2 == 0 {
					s.record(record{key: key, outcome: outcomeSkipped, holder: "wer", heldBy: "ein anderer ✓", took: took})
				}
			}
			list, err := s.records(t.Context(), key)
			require.NoError(t, err)
			runs, refused := 0, 0
			for _, r := range list {
				if r.token == 0 {
					refused++
					assert.Equal(t, "ein anderer ✓", r.heldBy)
					continue
				}
				if runs == 0 {
					assert.Equal(t, record{key, "", outcomeTimeout, 124, recordsKept + 3, "wer ✓", "wozu ✓", "", (recordsKept + 2) * time.Microsecond, r.took, r.startedMicros}, r)
					assert.InDelta(t, float64(recordsKept-2), r.took.Seconds(), 0.1)
					assert.WithinDuration(t, began.Add(-r.took), time.UnixMicro(r.startedMicros), time.Minute)
				}
				runs++
			}
			assert.Equal(t, recordsKept, runs)
			assert.Equal(t, (recordsKept+3+1)/2, refused, "they do not push each other out")
			list, err = s.records(t.Context(), other)
			require.NoError(t, err)
			assert.Len(t, list, 1, "of another name")
		})
	}
}

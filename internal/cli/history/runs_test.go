package history

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/sqltable"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// Every database keeps the last hundred runs and the last hundred refusals of each lock. Texts are read exactly as they
// were written, whatever the connection's character set is.
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
			at, err := store.Locate(where(t), nil)
			require.NoError(t, err)
			table, err := sqltable.Parse("mine")
			require.NoError(t, err)
			s, err := store.Open(t.Context(), at, table)
			require.NoError(t, err)
			defer s.Close()
			require.NoError(t, migrations.Up(t.Context(), s.DB, s.At.Dialect, migrations.Table("mine")))

			key, other := driver.Key{Namespace: "space", Name: "täglich 🌍"}, driver.Key{Namespace: "space", Name: "other"}
			began := time.Now()
			Of(s).record(Record{Key: other, Outcome: job.Exited, Token: 1, Holder: "somebody"})
			for i := range Kept + 3 { // oldest run first; each run took a second less than the previous run
				took := time.Duration(2*Kept-i) * time.Second
				Of(s).record(Record{Key: key, Outcome: job.TimedOut, Code: 124, Token: driver.Token(i + 1), Holder: "wer ✓", Note: "wozu ✓", Took: took, Waited: time.Duration(i) * time.Microsecond})
				if i%2 == 0 {
					Of(s).record(Record{Key: key, Outcome: job.Skipped, Holder: "wer", HeldBy: "ein anderer ✓", Took: took})
				}
			}
			list, err := Of(s).List(t.Context(), key)
			require.NoError(t, err)
			runs, refused := 0, 0
			for _, r := range list {
				if r.Token == 0 {
					refused++
					assert.Equal(t, "ein anderer ✓", r.HeldBy)
					continue
				}
				if runs == 0 {
					assert.Equal(t, Record{key, "", job.TimedOut, 124, Kept + 3, "wer ✓", "wozu ✓", "", (Kept + 2) * time.Microsecond, r.Took, r.StartedMicros}, r)
					assert.InDelta(t, float64(Kept-2), r.Took.Seconds(), 0.1)
					assert.WithinDuration(t, began.Add(-r.Took), time.UnixMicro(r.StartedMicros), time.Minute)
				}
				runs++
			}
			assert.Equal(t, Kept, runs)
			assert.Equal(t, (Kept+3+1)/2, refused, "each kind has its own limit")
			list, err = Of(s).List(t.Context(), other)
			require.NoError(t, err)
			assert.Len(t, list, 1, "of another name")
		})
	}
}

// A record does not wait for the disk. Afterwards a commit on the same connection does, because it may be a grant.
func TestRecordsAreNotFlushed(t *testing.T) {
	t.Parallel()
	at, err := store.Locate("sqlite:"+filepath.Join(t.TempDir(), "locks.db"), nil)
	require.NoError(t, err)
	table, err := sqltable.Parse("mine")
	require.NoError(t, err)
	s, err := store.Open(t.Context(), at, table)
	require.NoError(t, err)
	defer s.Close()
	s.DB.SetMaxOpenConns(1)
	require.NoError(t, migrations.Up(t.Context(), s.DB, s.At.Dialect, migrations.Table("mine")))
	_, err = s.DB.ExecContext(t.Context(), `CREATE TABLE seen (level INTEGER);
		CREATE TRIGGER see AFTER INSERT ON mine_run BEGIN INSERT INTO seen SELECT synchronous FROM pragma_synchronous; END`)
	require.NoError(t, err)
	Of(s).record(Record{Key: driver.Key{Name: "job"}, Outcome: job.Exited, Token: 1})
	during, after := 0, 0
	require.NoError(t, s.DB.QueryRowContext(t.Context(), "SELECT level FROM seen").Scan(&during))
	require.NoError(t, s.DB.QueryRowContext(t.Context(), "PRAGMA synchronous").Scan(&after))
	assert.Equal(t, 1, during, "NORMAL")
	assert.Equal(t, 2, after, "FULL")
}

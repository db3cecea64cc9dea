package migrations_test

import (
	"io/fs"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/migrations"
)

// migrationOf returns a folder that contains the script as a user's own goose migration. On Postgres the functions
// contain semicolons, so goose must run the whole script as one statement. On the other databases goose splits the
// script at its semicolons.
func migrationOf(d migrations.Dialect, script string) fs.FS {
	if d == migrations.Postgres {
		script = "-- +goose StatementBegin\n" + script + "-- +goose StatementEnd\n"
	}
	return fstest.MapFS{"00007_rowlock.sql": {Data: []byte("-- +goose Up\n" + script)}}
}

// If a user's own migrations created the tables, Up, Down and Status return ErrMadeElsewhere, and Up and Down change
// nothing.
func TestTablesOfOtherMigrationsAreLeftAlone(t *testing.T) {
	eachDatabase(t, func(t *testing.T, on target) {
		ctx := t.Context()
		script, err := migrations.SQL(on.dialect)
		require.NoError(t, err)
		_, err = ownProvider(t, on, migrationOf(on.dialect, script)).Up(ctx)
		require.NoError(t, err)

		require.ErrorIs(t, migrations.Up(ctx, on.db, on.dialect), migrations.ErrMadeElsewhere)
		require.ErrorIs(t, migrations.Down(ctx, on.db, on.dialect), migrations.ErrMadeElsewhere)
		_, err = migrations.Status(ctx, on.db, on.dialect)
		require.ErrorIs(t, err, migrations.ErrMadeElsewhere)
		assert.Equal(t, 1, on.count(t, "SELECT count(*) FROM rowlock_lease_meta"), "it is still there")

		other := migrations.Table("jobs")
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect, other), "another table has nothing to do with it")
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect, other))
	})
}

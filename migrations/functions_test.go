package migrations_test

import (
	"context"
	"database/sql"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

func postgres(t *testing.T) target {
	t.Helper()
	dsn := testenv.Postgres(t)
	db, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return target{migrations.Postgres, "pgx", dsn, db}
}

const functions = `SELECT count(*) FROM pg_proc p WHERE p.proname LIKE 'rowlock\_lease\_%' AND p.proname NOT IN ('rowlock_lease_same_epoch', 'rowlock_lease_fence_check')`

// The functions are a series of their own: they can be left out, rolled back and applied again, and the series of the
// tables does not notice them. As long as they exist, the tables are not rolled back.
func TestFunctionsAreASeriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	on, ctx := postgres(t), t.Context()
	ofFunctions := migrations.Functions()
	err := migrations.Up(ctx, on.db, on.dialect, ofFunctions)
	require.ErrorContains(t, err, "rowlock_lease", "the tables must exist")
	require.NoError(t, migrations.Up(ctx, on.db, on.dialect))
	assert.Zero(t, on.count(t, functions), "they can be left out")
	applied := func(opts ...migrations.Option) (n int) {
		list, err := migrations.Status(ctx, on.db, on.dialect, opts...)
		require.NoError(t, err)
		for _, m := range list {
			if m.Applied {
				n++
			}
		}
		return n
	}
	tables := applied()
	for range 2 {
		for range 2 {
			require.NoError(t, migrations.Up(ctx, on.db, on.dialect, ofFunctions))
			assert.Equal(t, 2, applied(ofFunctions))
		}
		assert.Positive(t, on.count(t, functions))
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect))
		assert.Equal(t, tables, applied())
		for _, down := range []func(context.Context, *sql.DB, migrations.Dialect, ...migrations.Option) error{migrations.Down, migrations.DownAll} {
			require.ErrorContains(t, down(ctx, on.db, on.dialect), "roll back the functions first")
			assert.Equal(t, tables, applied())
		}

		require.NoError(t, migrations.Down(ctx, on.db, on.dialect, ofFunctions))
		assert.Equal(t, 1, applied(ofFunctions), "one step at a time")
		require.NoError(t, migrations.DownAll(ctx, on.db, on.dialect, ofFunctions))
		assert.Zero(t, on.count(t, functions))
		assert.Equal(t, tables, applied())
	}
	require.NoError(t, migrations.DownAll(ctx, on.db, on.dialect))
}

// The functions work beside a table of any name, in any schema, for a session whose search_path does not contain it.
// A second set beside another table has nothing to do with the first.
func TestFunctionsBesideATableOfAnyName(t *testing.T) {
	t.Parallel()
	on, ctx := postgres(t), t.Context()
	_, err := on.db.ExecContext(ctx, "CREATE SCHEMA ops")
	require.NoError(t, err)
	long := strings.Repeat("x", 50)
	for _, name := range []string{"ops.Jobs", "rowlock_lease", long} {
		opts := []migrations.Option{migrations.Table(name), migrations.Functions()}
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect, opts[0]), name)
		require.NoError(t, migrations.Up(ctx, on.db, on.dialect, opts...), name)
		prefix := `"` + strings.ReplaceAll(name, ".", `"."`)
		call := func(statement string) {
			t.Helper()
			_, err := on.db.ExecContext(ctx, strings.ReplaceAll(statement, `"T`, prefix))
			require.NoError(t, err, name)
		}
		call(`SELECT "T_try_acquire"('nightly', '1 min')`)
		call(`CALL "T_acquire"('hourly', '1 s', '1 min')`)
		call(`SELECT "T_lock_in_tx"('weekly')`)
		call(`SELECT "T_seal"('hourly', token, nonce) FROM "T" WHERE name = 'hourly'`)
		call(`SELECT "T_check"('hourly', token, nonce), "T_release"('hourly', nonce, token) FROM "T" WHERE name = 'hourly'`)
		assert.Equal(t, 3, on.count(t, strings.ReplaceAll(`SELECT count(*) FROM "T_locks"`, `"T`, prefix)))
	}
}

// FS and SQL contain the functions for other tools. The files of both series fit into one folder for goose. If another
// tool has created the functions, Up leaves them alone.
func TestFunctionsForOtherTools(t *testing.T) {
	t.Parallel()
	on, ctx := postgres(t), t.Context()
	folder := fstest.MapFS{}
	for _, opts := range [][]migrations.Option{nil, {migrations.Functions()}} {
		files, err := migrations.FS(on.dialect, opts...)
		require.NoError(t, err)
		names, err := fs.Glob(files, "*.sql")
		require.NoError(t, err)
		for _, name := range names {
			text, err := fs.ReadFile(files, name)
			require.NoError(t, err)
			require.NotContains(t, folder, name)
			folder[name] = &fstest.MapFile{Data: text}
		}
	}
	p, err := goose.NewProvider(goose.DialectPostgres, on.db, folder)
	require.NoError(t, err)
	_, err = p.Up(ctx)
	require.NoError(t, err)
	all := on.count(t, functions)
	require.ErrorIs(t, migrations.Up(ctx, on.db, on.dialect, migrations.Functions()), migrations.ErrMadeElsewhere)
	_, err = p.DownTo(ctx, 0)
	require.NoError(t, err)

	script, err := migrations.SQL(on.dialect)
	require.NoError(t, err)
	more, err := migrations.SQL(on.dialect, migrations.Functions())
	require.NoError(t, err)
	assert.NotContains(t, more, "goose")
	_, err = on.db.ExecContext(ctx, script+more, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	assert.Equal(t, all, on.count(t, functions))
}

// There are no functions for SQLite.
func TestFunctionsOfOtherDatabases(t *testing.T) {
	t.Parallel()
	_, err := migrations.SQL(migrations.SQLite, migrations.Functions())
	require.ErrorContains(t, err, "functions for sqlite")
}

// On MySQL and MariaDB the functions are procedures. They can be left out, rolled back and applied again. An interrupted
// migration can run again. As long as they exist, the tables are not rolled back. A second set beside a table of another
// name has nothing to do with the first.
func TestProceduresAreASeriesOfTheirOwn(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{"mysql": testenv.MySQL, "mariadb": testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db, err := sql.Open("mysql", dsn(t))
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			on, ctx := target{dialect: migrations.MySQL, db: db}, t.Context()
			const all = "SELECT COUNT(*) FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = DATABASE()"
			long := strings.Repeat("x", 50)
			for _, table := range []string{"rowlock_lease", long} {
				named := migrations.Table(table)
				require.NoError(t, migrations.Up(ctx, db, on.dialect, named))
				before := on.count(t, all)
				for range 2 {
					require.NoError(t, migrations.Up(ctx, db, on.dialect, named, migrations.Functions()))
					require.NoError(t, migrations.Up(ctx, db, on.dialect, named, migrations.Functions()))
					_, err := db.ExecContext(ctx, "DELETE FROM "+table+"_version_fn WHERE version_id > 0")
					require.NoError(t, err, "as if the migration had been interrupted")
					require.NoError(t, migrations.Up(ctx, db, on.dialect, named, migrations.Functions()))
					_, err = db.ExecContext(ctx, "CALL "+table+"_try_acquire('nightly', 60, NULL, NULL, NULL, NULL, @nonce, @verdict, @token, @held_by, @free_in, @ahead)")
					require.NoError(t, err)
					assert.Positive(t, on.count(t, "SELECT COUNT(*) FROM "+table+"_locks"))
					require.ErrorContains(t, migrations.Down(ctx, db, on.dialect, named), "roll back the functions first")
					require.NoError(t, migrations.Down(ctx, db, on.dialect, named, migrations.Functions()))
					require.NoError(t, migrations.DownAll(ctx, db, on.dialect, named, migrations.Functions()))
					assert.Equal(t, before, on.count(t, all))
				}
				require.NoError(t, migrations.Up(ctx, db, on.dialect, named, migrations.Functions()))
			}
			require.NoError(t, migrations.DownAll(ctx, db, on.dialect, migrations.Functions()))
			require.NoError(t, migrations.DownAll(ctx, db, on.dialect))
			assert.Positive(t, on.count(t, all), "those beside the other table are still there")
		})
	}
}

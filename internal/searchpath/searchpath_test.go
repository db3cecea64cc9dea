// Package searchpath_test checks the PostgreSQL statements of this module. If another user may create objects
// in a schema on the search_path, the statements must not use these objects.
//
// If a name has no schema, PostgreSQL looks for it in every schema of search_path. PostgreSQL looks in the schema
// pg_catalog first, unless search_path names pg_catalog at another position. If a function in pg_catalog accepts
// exactly the given argument types, PostgreSQL chooses that function. If an argument would need a conversion,
// PostgreSQL prefers an overload without a conversion, even one in another schema. So the statements of this module
// pass exact types to every operator and function. Where necessary, the statements contain casts. They also cast
// constants without a type to text. A few functions accept arguments of any type. The statements write these functions
// with their schema, pg_catalog. The alternative for operators is OPERATOR(pg_catalog.+), which is harder to read.
// Another alternative is a session setting, which a pool would have to set on each connection.
package searchpath_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/migrations"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// root is the root folder of the module.
const root = "../.."

// statements returns the PostgreSQL statements of the module, by the paths of their files.
func statements(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	skipped := []string{"mysql", "mariadb", "sqlite", "mysqlock", "compat_test", "bench", "examples", "testdata", "migrations/postgres", "migrations/functions"}
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(skipped, name) || slices.Contains(skipped, d.Name())):
			return filepath.SkipDir
		case filepath.Ext(name) != ".sql":
			return nil
		}
		text, err := os.ReadFile(path)
		statement := withoutComments(string(text))
		if !slices.ContainsFunc([]string{"?", "sqlite_", "rowlock_lease_counter", "rowlock_lease_mint"}, func(foreign string) bool { return strings.Contains(statement, foreign) }) {
			found[name] = statement
		}
		return err
	}))
	for _, folder := range []string{"sqllock/", "advisory/", "fence/", "internal/cli/", "migrations/version/"} {
		require.True(t, slices.ContainsFunc(keys(found), func(name string) bool { return strings.HasPrefix(name, folder) }), folder)
	}
	return found
}

func keys(m map[string]string) []string {
	var all []string
	for k := range m {
		all = append(all, k)
	}
	slices.Sort(all)
	return all
}

var comment = regexp.MustCompile(`--[^\n]*`)

func withoutComments(text string) string { return comment.ReplaceAllString(text, "") }

var (
	constant = regexp.MustCompile(`'[^']*'`)
	operator = regexp.MustCompile(`[-+*/<>=~!@#%^&|]+`)
	function = regexp.MustCompile(`([.\w]+)\(`)
)

// names returns the operators and functions that the texts use. It includes the operators behind BETWEEN, IN, CASE,
// NULLIF and IS DISTINCT FROM. It leaves out functions that are written with pg_catalog, because PostgreSQL looks
// for these only there.
func names(texts ...string) (operators, functions []string) {
	operators = []string{"=", "<>", "<", "<=", ">", ">="}
	for _, text := range texts {
		text = constant.ReplaceAllString(text, "''")
		operators = append(operators, operator.FindAllString(text, -1)...)
		for _, f := range function.FindAllStringSubmatch(text, -1) {
			if !strings.Contains(f[1], ".") {
				functions = append(functions, strings.ToLower(f[1]))
			}
		}
	}
	slices.Sort(operators)
	slices.Sort(functions)
	return slices.Compact(operators), slices.Compact(functions)
}

// hostile returns a database in which a schema of another user is on the search_path.
// That schema overloads all operators and functions that the texts use.
func hostile(t *testing.T, texts ...string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", testenv.Postgres(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	db.SetMaxOpenConns(1)
	exec := func(statement string, args ...any) {
		t.Helper()
		_, err := db.ExecContext(t.Context(), statement, append([]any{pgx.QueryExecModeSimpleProtocol}, args...)...)
		require.NoError(t, err)
	}
	operators, functions := names(texts...)
	exec("CREATE SCHEMA searchpath; CREATE TABLE searchpath.operators (name text); CREATE TABLE searchpath.functions (name text)")
	exec("INSERT INTO searchpath.operators SELECT unnest($1::text[])", operators)
	exec("INSERT INTO searchpath.functions SELECT unnest($1::text[])", functions)
	script, err := os.ReadFile("testdata/hostile.sql")
	require.NoError(t, err)
	exec(string(script))
	return db
}

// probe returns the objects of the hostile schema that a statement uses. It makes the statement the body of a
// function. PostgreSQL then parses the statement, and stores which objects the function depends on.
func probe(ctx context.Context, db *sql.DB, statement string) (found []string, err error) {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, tx.Rollback()) }()
	exec := func(statement string) {
		if err == nil {
			_, err = tx.ExecContext(ctx, statement, pgx.QueryExecModeSimpleProtocol)
		}
	}
	var types string
	exec("DEALLOCATE ALL")
	exec("SET LOCAL search_path = hostile, public")
	exec("PREPARE probed AS " + statement)
	if err == nil {
		const query = "SELECT parameter_types FROM pg_prepared_statements WHERE name = 'probed'"
		err = tx.QueryRowContext(ctx, query, pgx.QueryExecModeSimpleProtocol).Scan(&types)
	}
	exec(fmt.Sprintf("CREATE FUNCTION public.probed(%s) RETURNS void LANGUAGE sql BEGIN ATOMIC %s; END", strings.NewReplacer("{", "", "}", "", `"`, "").Replace(types), statement))
	exec("SET LOCAL search_path = pg_catalog")
	if err != nil {
		return nil, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT pg_describe_object(d.refclassid, d.refobjid, 0)
		FROM pg_depend d JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid
		WHERE p.proname = 'probed' AND pg_describe_object(d.refclassid, d.refobjid, 0) ~ 'hostile'`, pgx.QueryExecModeSimpleProtocol)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			return nil, err
		}
		found = append(found, one)
	}
	return found, rows.Err()
}

// No statement of the module runs an operator or a function of another user's schema on the search_path.
func TestStatementsFindNothingOfOthersOnTheSearchPath(t *testing.T) {
	t.Parallel()
	all := statements(t)
	texts := make([]string, 0, len(all))
	for _, text := range all {
		texts = append(texts, text)
	}
	db := hostile(t, texts...)
	testschema.Install(t, db, migrations.Postgres)
	_, err := db.ExecContext(t.Context(), `CREATE TABLE guarded_row (guarded_key bigint, guarded_token bigint);
		CREATE TABLE rowlock_demo (name varchar(64), amount bigint);
		CREATE TABLE rowlock_lease_version (id integer, version_id bigint, is_applied boolean, tstamp timestamp)`, pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	var variadic []string
	rows, err := db.QueryContext(t.Context(), `SELECT DISTINCT proname FROM pg_proc JOIN searchpath.functions f ON f.name = proname
		WHERE pronamespace = 'pg_catalog'::regnamespace
		AND (provariadic = '"any"'::regtype OR (SELECT count(*) FROM unnest(proargtypes) a WHERE a::regtype::text LIKE 'any%') > 1)`)
	require.NoError(t, err)
	for rows.Next() {
		var name string
		require.NoError(t, rows.Scan(&name))
		variadic = append(variadic, name)
	}
	require.NoError(t, rows.Err())
	assert.Empty(t, variadic, "take any arguments, and so must be called as pg_catalog's")
	for _, name := range keys(all) {
		statement, _ := strings.CutPrefix(strings.TrimSpace(all[name]), "EXPLAIN ")
		if verb, _, _ := strings.Cut(statement, " "); slices.Contains([]string{"SAVEPOINT", "RELEASE", "CREATE", "DROP"}, verb) {
			continue // the statement uses no operator and no function
		} else if verb == "DO" {
			continue // TestTheCheckOfAScriptFindsNothingOfOthersOnTheSearchPath
		}
		found, err := probe(t.Context(), db, strings.TrimSuffix(strings.TrimSpace(statement), ";"))
		assert.NoError(t, err, name)
		assert.Empty(t, found, name)
	}
}

// The check that a script runs uses no operator and no function of another user's schema on the search_path. PostgreSQL
// stores no dependencies of a DO block, so the test runs the block. The objects of the other user fail when they run.
func TestTheCheckOfAScriptFindsNothingOfOthersOnTheSearchPath(t *testing.T) {
	t.Parallel()
	const name = "fence/sql/postgres/script_3_check.sql"
	text := statements(t)[name]
	db := hostile(t, text)
	testschema.Install(t, db, migrations.Postgres)
	nonce := "8c9a7c5e-1f0b-4d0c-9a55-0d6f3c1e2b4a"
	block := strings.NewReplacer("'rowlock namespace'", "''", "'rowlock resource'", "'orders'", "'rowlock nonce'", "'"+nonce+"'", "'rowlock idle'", "'5000'").Replace(text)
	run := func() error {
		tx, err := db.BeginTx(t.Context(), nil)
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback()) }()
		_, err = tx.ExecContext(t.Context(), "SET LOCAL search_path = hostile, public", pgx.QueryExecModeSimpleProtocol)
		require.NoError(t, err)
		_, err = tx.ExecContext(t.Context(), block, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	var refused *pgconn.PgError
	require.ErrorAs(t, run(), &refused)
	assert.Equal(t, "RLF02", refused.Code, refused.Message) // no lease has sealed
	_, err := db.ExecContext(t.Context(), "INSERT INTO rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at) VALUES ('', 'orders', 7, '"+nonce+"', 'test', '2026-01-01')", pgx.QueryExecModeSimpleProtocol)
	require.NoError(t, err)
	assert.NoError(t, run())
}

// A migration by the owner runs no function of other users, even if search_path names pg_catalog last. Afterwards
// search_path is unchanged.
func TestMigrationsFindNothingOfOthersOnTheSearchPath(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"public, hostile", "public, hostile, pg_catalog"} {
		t.Run(path, func(t *testing.T) {
			t.Parallel()
			db := hostile(t, migrationTexts(t)...)
			exec := func(statement string) {
				t.Helper()
				_, err := db.ExecContext(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
				require.NoError(t, err)
			}
			for _, f := range []string{"now()", "format(text, regnamespace)", "format(text, text)"} {
				exec("CREATE FUNCTION hostile." + f + " RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'hostile " + f + "'; END $$")
			}
			exec("SET search_path = " + path)
			require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres))
			exec("INSERT INTO rowlock_lease_version (version_id, is_applied) VALUES (99, false)") // otherwise the default of the column tstamp would call hostile.now()
			exec("DELETE FROM rowlock_lease_version WHERE version_id = 99::bigint")
			_, err := migrations.Status(t.Context(), db, migrations.Postgres)
			require.NoError(t, err)
			require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres, migrations.Functions()))
			require.NoError(t, migrations.DownAll(t.Context(), db, migrations.Postgres, migrations.Functions()))
			require.NoError(t, migrations.Down(t.Context(), db, migrations.Postgres))
			require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres))
			var after string
			require.NoError(t, db.QueryRowContext(t.Context(), "SHOW search_path", pgx.QueryExecModeSimpleProtocol).Scan(&after))
			assert.Equal(t, path, after)
		})
	}
}

func migrationTexts(t *testing.T) (texts []string) {
	t.Helper()
	for _, pattern := range []string{"migrations/postgres/*.sql", "migrations/functions/postgres/*.sql", "migrations/version/postgres/*.sql"} {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		require.NotEmpty(t, files)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			texts = append(texts, withoutComments(string(text)))
		}
	}
	return texts
}

// The trigger function runs no function of other users, even if they may create objects in the schema of the tables.
func TestTheTriggerFindsNothingOfOthersInTheSchemaOfTheTables(t *testing.T) {
	t.Parallel()
	db := hostile(t, migrationTexts(t)...)
	exec := func(statement string) error {
		_, err := db.ExecContext(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
		return err
	}
	testschema.Install(t, db, migrations.Postgres, migrations.Table("hostile.rowlock_lease"))
	for _, args := range []string{"text, text, name", "text, text, text"} {
		require.NoError(t, exec("CREATE FUNCTION hostile.format("+args+") RETURNS text LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'hostile format'; END $$"))
	}
	require.NoError(t, exec(`CREATE TABLE ledger (n int);
		CREATE TRIGGER rowlock_fence BEFORE INSERT ON ledger FOR EACH STATEMENT EXECUTE FUNCTION hostile.rowlock_lease_fence_check('shop', 'ledger');
		INSERT INTO hostile.rowlock_lease_fence (namespace, resource, token, nonce, domain, sealed_at)
		VALUES ('shop', 'ledger', 1, '00000000-0000-0000-0000-000000000001', '', now())`))
	for setting, want := range map[string]string{
		"rowlock.nonces = ''": "RLF01",
		"rowlock.nonces = '00000000-0000-0000-0000-000000000002'": "RLF02",
		"rowlock.nonces = '00000000-0000-0000-0000-000000000001'": "",
		"rowlock.pass = 'on'": "",
	} {
		err := exec("BEGIN; SET LOCAL " + setting + "; INSERT INTO ledger VALUES (1); COMMIT")
		if want == "" {
			assert.NoError(t, err, setting)
			continue
		}
		assert.ErrorContains(t, err, want, setting)
		assert.NoError(t, exec("ROLLBACK"))
	}
}

// The functions run nothing of other users: neither if these may create objects in the schema of the tables, nor if
// the caller's search_path contains their schema.
func TestTheFunctionsFindNothingOfOthers(t *testing.T) {
	t.Parallel()
	for _, table := range []string{"hostile.rowlock_lease", "public.rowlock_lease"} {
		t.Run(table, func(t *testing.T) {
			t.Parallel()
			db := hostile(t, migrationTexts(t)...)
			testschema.Install(t, db, migrations.Postgres, migrations.Table(table))
			testschema.Install(t, db, migrations.Postgres, migrations.Table(table), migrations.Functions())
			script := strings.NewReplacer("T_", table+"_", "LEASES", table).Replace(`SET search_path = hostile, public;
				CALL T_acquire('nightly'::text, interval '1 s', interval '1 min');
				SELECT T_lock_in_tx('weekly'::text, interval '1 s');
				SELECT T_renew('nightly'::text, l.nonce, l.token, interval '1 min') FROM LEASES l WHERE l.name OPERATOR(pg_catalog.=) 'nightly'::text;
				SELECT T_seal('nightly'::text, l.token, l.nonce) FROM LEASES l WHERE l.name OPERATOR(pg_catalog.=) 'nightly'::text;
				SELECT T_check('nightly'::text, l.token, l.nonce) FROM LEASES l WHERE l.name OPERATOR(pg_catalog.=) 'nightly'::text;
				CALL T_acquire('nightly'::text, interval '30 ms', interval '1 min');
				SELECT state FROM T_locks;
				SELECT T_release('nightly'::text, l.nonce, l.token) FROM LEASES l WHERE l.name OPERATOR(pg_catalog.=) 'nightly'::text`)
			for statement := range strings.SplitSeq(script, ";") { // CALL fails in a transaction, and a script is one
				_, err := db.ExecContext(t.Context(), statement, pgx.QueryExecModeSimpleProtocol)
				require.NoError(t, err, statement)
			}
		})
	}
}

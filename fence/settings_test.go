package fence_test

import (
	"context"
	"database/sql"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/memlock"
	"github.com/rowlock/rowlock/migrations"
)

// The session settings of each engine that could change what a statement does.
var (
	mysqlSettings = map[string]map[string]string{
		"few rows":         {"sql_select_limit": "1"},
		"ANSI":             {"sql_mode": "'ANSI,NO_BACKSLASH_ESCAPES'"},
		"lax":              {"sql_mode": "''"},
		"strict":           {"sql_mode": "'TRADITIONAL,ONLY_FULL_GROUP_BY,NO_ZERO_IN_DATE'"},
		"padded":           {"sql_mode": "'PAD_CHAR_TO_FULL_LENGTH'"},
		"real as float":    {"sql_mode": "'REAL_AS_FLOAT,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE'"},
		"safe updates":     {"sql_safe_updates": "1", "sql_select_limit": "1000", "max_join_size": "1000000"},
		"small selects":    {"sql_big_selects": "0", "max_join_size": "1"},
		"latin1":           {"charset": "latin1"},
		"latin1 literals":  {"collation_connection": "latin1_german1_ci"},
		"binary":           {"character_set_results": "binary", "collation_connection": "binary"},
		"utf16 literals":   {"collation_connection": "utf16_general_ci"},
		"ucs2 literals":    {"collation_connection": "ucs2_bin"},
		"interpolated":     {"interpolateParams": "true", "clientFoundRows": "true"},
		"time zone":        {"time_zone": "'+09:00'", "parseTime": "true", "loc": "Local"},
		"small area":       {"tmp_table_size": "1024", "max_heap_table_size": "16384"},
		"derived unmerged": {"optimizer_switch": "'derived_merge=off'"},
		"as Oracle":        {"sql_mode": "'ORACLE,SIMULTANEOUS_ASSIGNMENT'"},         // MariaDB only
		"empty is null":    {"sql_mode": "'EMPTY_STRING_IS_NULL'"},                   // MariaDB only
		"truncated times":  {"sql_mode": "'TIME_TRUNCATE_FRACTIONAL'"},               // MySQL only
		"key required":     {"sql_require_primary_key": "1"},                         // MySQL only
		"no pushed limit":  {"optimizer_switch": "'derived_condition_pushdown=off'"}, // MySQL only
	}
	mariadbOnly = map[string]bool{"as Oracle": true, "empty is null": true}
	mysqlOnly   = map[string]bool{"truncated times": true, "key required": true, "no pushed limit": true}

	postgresSettings = map[string]map[string]string{
		"escapes":        {"standard_conforming_strings": "off", "escape_string_warning": "on", "backslash_quote": "off"},
		"quoted":         {"quote_all_identifiers": "on"},
		"other dates":    {"DateStyle": "SQL, DMY", "IntervalStyle": "sql_standard", "TimeZone": "Asia/Kathmandu"},
		"other numbers":  {"extra_float_digits": "-15", "bytea_output": "escape"},
		"null equals":    {"transform_null_equals": "on", "array_nulls": "off"},
		"serializable":   {"default_transaction_isolation": "serializable"},
		"repeatable":     {"default_transaction_isolation": "repeatable read"},
		"no scans":       {"enable_seqscan": "off", "enable_indexscan": "off", "enable_bitmapscan": "off", "enable_sort": "off", "jit": "off"},
		"custom plans":   {"plan_cache_mode": "force_generic_plan", "from_collapse_limit": "1", "join_collapse_limit": "1"},
		"plpgsql strict": {"plpgsql.extra_errors": "all", "plpgsql.variable_conflict": "error"},
		"plpgsql column": {"plpgsql.variable_conflict": "use_column"},
		"row security":   {"row_security": "off"},
		"no durability":  {"synchronous_commit": "off"},
		"no path":        {"search_path": "public, pg_catalog"},
	}
)

// A guard does not depend on the caller's session settings. Under each of these settings it does the same as under the
// default settings, and sees the same marks.
func TestSessionSettingsChangeNothing(t *testing.T) {
	t.Parallel()
	for _, e := range servers {
		t.Run(e.name, func(t *testing.T) {
			t.Parallel()
			s := e.fresh(t)
			s.exec(t, "CREATE TABLE orders (id bigint PRIMARY KEY, lock_token bigint)")
			s.exec(t, "INSERT INTO orders (id) VALUES (1)")
			settings := postgresSettings
			if s.dialect == migrations.MySQL {
				settings = mysqlSettings
			}
			for name, params := range settings {
				if e.name == "mysql" && mariadbOnly[name] || e.name == "mariadb" && mysqlOnly[name] {
					continue
				}
				t.Run(name, func(t *testing.T) { s.lifeUnder(t, name, params) })
			}
		})
	}
}

// under returns a database handle whose sessions have the settings params.
func (s *store) under(t *testing.T, params map[string]string) *sql.DB {
	t.Helper()
	values := url.Values{}
	for k, v := range params {
		values.Set(k, v)
	}
	separator := "?"
	if strings.Contains(s.dsn, "?") {
		separator = "&"
	}
	return s.open(t, s.dsn+separator+strings.ReplaceAll(values.Encode(), "+", "%20"))
}

// lifeUnder calls every method of a guard whose sessions have the settings params.
func (s *store) lifeUnder(t *testing.T, setting string, params map[string]string) {
	ctx := t.Context()
	u := &store{engine: s.engine, dsn: s.dsn, db: s.under(t, params), locks: memlock.New()}
	u.guard = u.engine.guard(u.db, fence.Protected())
	u.seals = u.guard
	named := func(what string) string { return fmt.Sprintf(`%s 'Zoë' "🔒" \ of %s`, what, setting) }
	a, b := named("a"), named("b")
	add := func(ctx context.Context, tx *sql.Tx) error { // reads nothing, because some settings prevent reads
		_, err := tx.ExecContext(ctx, "INSERT INTO ledger (token, seen) VALUES (1, 1)")
		return err
	}
	write := func(lease *rowlock.Lease) error { return u.guard.Tx(lease.Context(), add, a, b) }

	// Tests Seal, Tx and Check on a protected table.
	require.NoError(t, u.guard.Protect(ctx, "ledger", a))
	t.Cleanup(func() { require.NoError(t, s.guard.Unprotect(context.Background(), "ledger")) })
	old, newer := u.lease(t, named("lock")), u.lease(t, named("lock"))
	require.NoError(t, u.guard.Seal(ctx, old, a, b))
	require.NoError(t, write(old))
	require.NoError(t, u.guard.Seal(ctx, newer, a, b))
	require.ErrorIs(t, write(old), fence.ErrStale)
	for _, level := range u.levels {
		old, newer = newer, u.lease(t, named("lock"))
		require.NoError(t, u.guard.Seal(ctx, newer, a, b))
		tx := u.begin(t, level)
		require.ErrorIs(t, u.guard.Check(old.Context(), tx, a), fence.ErrStale)
		require.NoError(t, tx.Rollback())
		tx = u.begin(t, level)
		require.NoError(t, u.guard.Check(newer.Context(), tx, a, b))
		require.NoError(t, add(ctx, tx))
		require.NoError(t, u.guard.Uncheck(ctx, tx))
		require.NoError(t, tx.Commit())
	}
	require.ErrorContains(t, u.guard.Check(newer.Context(), u.db, a), "transaction")
	require.NoError(t, write(newer))
	for _, w := range []string{"INSERT INTO ledger (token, seen) VALUES (1, 1)", "UPDATE ledger SET seen = 9 WHERE id > 0", "DELETE FROM ledger WHERE id > 0"} {
		_, err := u.db.ExecContext(ctx, w)
		require.ErrorIs(t, u.guard.Explain(err), fence.ErrUnchecked, w)
		_, err = s.db.ExecContext(ctx, w)
		require.ErrorIs(t, u.guard.Explain(err), fence.ErrUnchecked, w)
	}
	require.NoError(t, u.guard.Unprotect(ctx, "ledger"))

	// Tests the option Lazy, a claim, and a lock that is stored in the same database.
	lazy := u.engine.guard(u.db, fence.Lazy())
	require.NoError(t, lazy.Tx(newer.Context(), nothing, named("lazy")))
	require.NoError(t, u.guard.Claim(ctx, holder(t, tokenless{memlock.New()}), named("claim")))
	s.keepLocks()
	u.locks = s.locks
	kept := u.lease(t, named("kept"))
	require.NoError(t, u.guard.Seal(ctx, kept, named("kept")))
	tx := u.begin(t, sql.LevelDefault)
	require.NoError(t, u.guard.CheckHeld(kept.Context(), tx, named("kept")))
	require.NoError(t, tx.Commit())
	require.NoError(t, u.guard.ReleaseOnCommit(kept.Context(), nothing, named("kept")))
	status, err := u.locks.Inspect(ctx, driver.Key{Name: named("kept")})
	require.NoError(t, err)
	assert.NotEqual(t, driver.StateHeld, status.State)
	tick := fmt.Sprintf(`tick 'x' "y" \ of %s`, setting)
	require.NoError(t, u.once(t, tick, func(ctx context.Context, _ *rowlock.Lease) error {
		return u.guard.ReleaseOnCommit(ctx, nothing)
	}))
	done, _ := s.last(t)
	assert.Equal(t, tick, done)

	// CheckRow.
	u.locks = memlock.New()
	old, newer = u.lease(t, named("lock")), u.lease(t, named("lock"))
	s.exec(t, "UPDATE orders SET lock_token = NULL")
	require.NoError(t, u.checkRow(t, newer, orderRow, 1))
	require.NoError(t, u.checkRow(t, newer, orderRow, 1))
	require.ErrorIs(t, u.checkRow(t, old, orderRow, 1), fence.ErrStale)
	require.ErrorIs(t, u.checkRow(t, newer, orderRow, 2), fence.ErrNoRow)

	// The operator's calls.
	list, err := u.guard.Marks(ctx, "", true)
	require.NoError(t, err)
	all, err := s.guard.Marks(ctx, "", true)
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(all), 5)
	require.Len(t, list, len(all))
	for i := range list {
		assert.InDelta(t, all[i].Age, list[i].Age, float64(time.Minute))
		list[i].Age = all[i].Age
	}
	assert.Equal(t, all, list)
	require.NoError(t, u.guard.Reset(ctx, "", list[0].Resource, list[0].Token))
	require.NoError(t, u.guard.ResetAll(ctx, "", true))
	assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence WHERE token <> 0"))
	s.grow(t, 2*day)
	for i := range 3 {
		s.exec(t, map[migrations.Dialect]string{
			migrations.Postgres: fmt.Sprintf("INSERT INTO rowlock_lease_outcome VALUES (gen_random_uuid(), -%d, now() - interval '3 days')", i),
			migrations.MySQL:    fmt.Sprintf("INSERT INTO rowlock_lease_outcome VALUES (uuid(), -%d, UTC_TIMESTAMP(6) - INTERVAL 3 DAY)", i),
		}[s.dialect])
	}
	require.Equal(t, len(list), u.prune(t, day))
	assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_fence"))
	assert.Zero(t, s.int(t, "SELECT count(*) FROM rowlock_lease_outcome WHERE operation <= 0"), "outcome rows are deleted, too")
}

package mysql

import (
	"maps"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
)

// Locks work the same with all session settings and DSN parameters of the application, and sessions with different
// settings exclude each other.
func TestMySQLSessionSettingsChangeNothing(t *testing.T) {
	settings := map[string]map[string]string{
		"client found rows":    {"clientFoundRows": "true"},
		"interpolated":         {"interpolateParams": "true"},
		"interpolated, found":  {"interpolateParams": "true", "clientFoundRows": "true"},
		"time zone east":       {"time_zone": "'+09:00'", "parseTime": "true", "loc": "Local"},
		"time zone west":       {"time_zone": "'-09:30'"},
		"lax":                  {"sql_mode": "''"},
		"strict":               {"sql_mode": "'TRADITIONAL,ONLY_FULL_GROUP_BY'"},
		"ANSI":                 {"sql_mode": "'ANSI_QUOTES,PIPES_AS_CONCAT,IGNORE_SPACE,NO_BACKSLASH_ESCAPES'"},
		"latin1":               {"charset": "latin1"},
		"latin1 connection":    {"charset": "utf8mb4", "collation_connection": "latin1_german1_ci"},
		"case-blind":           {"collation": "utf8mb4_general_ci"},
		"safe updates":         {"sql_safe_updates": "1"},
		"read uncommitted":     {"isolation": "READ-UNCOMMITTED"},
		"read committed":       {"isolation": "READ-COMMITTED"},
		"repeatable read":      {"isolation": "REPEATABLE-READ"},
		"serializable":         {"isolation": "SERIALIZABLE"},
		"snapshot isolation":   {"innodb_snapshot_isolation": "1"}, // MariaDB only
		"short waits":          {"innodb_lock_wait_timeout": "1"},
		"oracle":               {"sql_mode": "'ORACLE'"},                  // MariaDB only
		"simultaneous":         {"sql_mode": "'SIMULTANEOUS_ASSIGNMENT'"}, // MariaDB only
		"small temporary area": {"tmp_table_size": "1024", "max_heap_table_size": "16384"},
		"few rows":             {"sql_select_limit": "1"},
		"utf16 connection":     {"collation_connection": "utf16_general_ci"},
		"ucs2 connection":      {"collation_connection": "ucs2_bin"},
		"utf32 connection":     {"collation_connection": "utf32_bin"},
		"binary":               {"character_set_results": "binary", "collation_connection": "binary"},
		"small selects":        {"sql_big_selects": "0", "max_join_size": "1"},
		"empty is null":        {"sql_mode": "'EMPTY_STRING_IS_NULL'"},                                // MariaDB only
		"as Oracle":            {"sql_mode": "'ORACLE,EMPTY_STRING_IS_NULL,SIMULTANEOUS_ASSIGNMENT'"}, // MariaDB only
		"padded":               {"sql_mode": "'PAD_CHAR_TO_FULL_LENGTH'"},
		"real as float":        {"sql_mode": "'REAL_AS_FLOAT,NO_UNSIGNED_SUBTRACTION,HIGH_NOT_PRECEDENCE,NO_AUTO_VALUE_ON_ZERO'"},
		"truncated fractions":  {"sql_mode": "'TIME_TRUNCATE_FRACTIONAL'"}, // MySQL only
		"derived merge off":    {"optimizer_switch": "'derived_merge=off'"},
	}
	mariadbOnly := map[string]bool{"snapshot isolation": true, "oracle": true, "simultaneous": true, "empty is null": true, "as Oracle": true}
	// MariaDB reads no JSON in a session whose literals have wide characters: see
	// TestMariaDBRefusesSessionsOfWideCharacters.
	mysqlOnly := map[string]bool{"truncated fractions": true, "utf16 connection": true, "ucs2 connection": true, "utf32 connection": true}
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		const databases = 3 // as many subtests run at the same time: each lists and prunes a whole table
		free := make(chan *fixture, databases)
		free <- f
		for range databases - 1 {
			free <- f.another(t)
		}
		for name, params := range settings {
			if !f.mariadb && mariadbOnly[name] || f.mariadb && mysqlOnly[name] {
				continue
			}
			params = maps.Clone(params)
			if level := params["isolation"]; level != "" {
				delete(params, "isolation")
				maps.Copy(params, f.isolation(level))
			}
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				f := <-free
				t.Cleanup(func() { free <- f })
				b := on(f.open(t, params))
				lifeOfALock(t, f.Backend, b, "Zoë 🔒 of "+name)
				lifeOfShares(t, f.Backend, b, "shared 🔒 of "+name)
			})
		}
	})
}

// lifeOfALock calls every method of b for one lock, and checks that the parameter plain, a backend with default
// settings, reads the same state.
func lifeOfALock(t *testing.T, plain, b *Backend, name string) {
	ctx := limited(t)
	r := request(name)
	r.Holder, r.Note, r.HandoverDelay = "Ωmega 🐢", "because — that's why", time.Second
	g := mustAcquire(t, b, r)
	assert.Equal(t, g, mustAcquire(t, b, r), "the same nonce gets the same grant")

	_, err := plain.Acquire(ctx, request(name))
	held := requireHeld(t, err, driver.Leased)
	assert.Equal(t, r.Holder, held.Holder)
	assert.Equal(t, r.Note, held.Note)
	assert.Equal(t, g.Token, held.Token)
	assert.InDelta(t, r.TTL+r.HandoverDelay, held.ExpiresIn, float64(10*time.Second))
	assert.Less(t, held.Since, 10*time.Second)
	for _, waiting := range []bool{false, true} {
		other := request(name)
		other.Waiting = waiting
		_, err = b.Acquire(ctx, other)
		assert.Equal(t, r.Holder, requireHeld(t, err, driver.Leased).Holder)
	}
	lost := g
	lost.Token--
	second := mustAcquire(t, b, request(name+" 2"))
	got, err := b.Renew(ctx, []driver.Grant{lost, g, second})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed, driver.Renewed}, got)
	list, err := b.List(ctx, "", true)
	require.NoError(t, err)
	all, err := plain.List(ctx, "", true)
	require.NoError(t, err)
	assert.Len(t, list, len(all))
	require.NoError(t, b.Release(ctx, second))
	for _, batch := range [][]driver.Grant{{g}, {g, lost}, {g, g}} {
		got, err := b.Renew(ctx, batch)
		require.NoError(t, err)
		assert.Equal(t, []driver.Outcome{driver.Renewed, driver.Lost, driver.Renewed}[:1], got[:1])
	}
	got, err = b.Renew(ctx, []driver.Grant{lost, g})
	require.NoError(t, err)
	assert.Equal(t, []driver.Outcome{driver.Lost, driver.Renewed}, got)

	status, err := b.Inspect(ctx, g.Key)
	require.NoError(t, err)
	assert.Equal(t, driver.StateHeld, status.State)
	assert.Equal(t, driver.Key{Name: name}, status.Key)
	assert.Equal(t, r.Holder, status.Holder)

	require.ErrorIs(t, b.Release(ctx, lost), driver.ErrNotHeld)
	require.NoError(t, b.Release(ctx, g))
	require.NoError(t, b.Release(ctx, g), "releasing again is no error")
	for _, tick := range []string{"Zoë 🔒", "2026-11-23T00:00:00Z", ""} { // the last release records no tick, and leaves the recorded tick as it is
		done := mustAcquire(t, b, request(name))
		done.Done = tick
		require.NoError(t, b.Release(ctx, done))
	}
	again := mustAcquire(t, b, request(name))
	assert.Greater(t, again.Token, g.Token)
	assert.Equal(t, "2026-11-23T00:00:00Z", again.Done)
	status, err = plain.Inspect(ctx, g.Key)
	require.NoError(t, err)
	assert.Equal(t, again.Token, status.Token)
	assert.Equal(t, again.Done, status.Done)
	_, err = plain.Acquire(ctx, request(name))
	requireHeld(t, err, driver.Leased)
	var open *driver.Held
	require.ErrorAs(t, b.ForceRelease(ctx, again.Key, again.Token, false), &open)
	require.NoError(t, b.ForceRelease(ctx, again.Key, again.Token, true))
	require.ErrorIs(t, b.ForceRelease(ctx, again.Key, again.Token, true), driver.ErrNotHeld)
	require.ErrorIs(t, b.Release(ctx, again), driver.ErrNotHeld)

	closing := request(name)
	closing.MinHold = time.Minute
	closed := mustAcquire(t, b, closing)
	require.NoError(t, b.Release(ctx, closed))
	_, err = b.Acquire(ctx, request(name))
	requireHeld(t, err, driver.MinHold)
	require.NoError(t, b.ForceRelease(ctx, closed.Key, closed.Token, false), "a closed name opens")

	forgotten, err := b.Prune(ctx, 0)
	require.NoError(t, err)
	assert.Positive(t, forgotten)
	assert.Greater(t, mustAcquire(t, b, request(name)).Token, closed.Token)
}

// In a session without autocommit, every acquire fails, because its grants would be lost when the connection closes.
func TestMySQLRefusesSessionsWithoutAutocommit(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		db := f.open(t, map[string]string{"autocommit": "0"})
		db.SetMaxOpenConns(2)
		_, err := on(db).Acquire(limited(t), request("a"))
		require.Error(t, err)
		assert.True(t, driver.IsPermanent(err), "%v", err)
		assert.Contains(t, err.Error(), "autocommit")
	})
}

// In a session whose literals use UTF-16 or UTF-32, MariaDB could not renew leases. So every call in such a session
// fails, with an error that names the setting.
func TestMariaDBRefusesSessionsOfWideCharacters(t *testing.T) {
	onMySQLAndMariaDB(t, func(t *testing.T, f *fixture) {
		for collation, set := range map[string]string{"utf16_bin": "utf16", "utf16le_bin": "utf16le", "ucs2_bin": "ucs2", "utf32_bin": "utf32"} {
			_, err := on(f.open(t, map[string]string{"collation_connection": collation})).Acquire(limited(t), request(collation))
			if !f.mariadb {
				require.NoError(t, err)
				continue
			}
			require.ErrorContains(t, err, "character_set_connection is "+set)
			assert.True(t, driver.IsPermanent(err))
		}
	})
}

package sqllock_test

import (
	"database/sql"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testschema"
	"github.com/rowlock/rowlock/internal/testserver"
	"github.com/rowlock/rowlock/migrations"
	"github.com/rowlock/rowlock/sqllock"
)

// inEncoding opens a new database with the given encoding, and creates the tables in it.
func inEncoding(t *testing.T, encoding string) *sql.DB {
	t.Helper()
	db, err := sql.Open("pgx", testenv.PostgresEncoded(t, encoding))
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	testschema.Install(t, db, migrations.Postgres)
	return db
}

// Promises 11 and 12 of docs/guarantees.md: if a name can be acquired, it does not make the renewals of other names
// fail, whatever the database's encoding is. If the encoding is not UTF-8, PostgreSQL rejects \u escapes beyond ASCII
// in JSON. Go's JSON encoder always writes two characters (U+2028 and U+2029) as such escapes.
func TestNoNameSpoilsABatchInAnyEncoding(t *testing.T) {
	t.Parallel()
	names := []string{"a\u2028b", "a\u2029b", `\u2028`, "日本", "ü", "😀", "\x01\x1f\x7f", `"\/'<&>`, "tab\tline\n"}
	for _, encoding := range []string{"SQL_ASCII", "LATIN1", "UTF8"} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			b := sqllock.Postgres(inEncoding(t, encoding))
			grants := []driver.Grant{acquire(t, b, request("innocent"))}
			want := []driver.Outcome{driver.Renewed}
			for _, name := range names {
				r := request(name)
				r.Key.Namespace = name
				grants, want = append(grants, acquire(t, b, r)), append(want, driver.Renewed)
			}
			outcomes, err := b.Renew(t.Context(), grants)
			require.NoError(t, err)
			require.Equal(t, want, outcomes)

			for _, g := range grants[1:] {
				woken := make(chan struct{}, 1)
				stop, err := b.Notify(t.Context(), g.Key, func() { woken <- struct{}{} })
				require.NoError(t, err)
				require.NoError(t, b.Release(t.Context(), g))
				select {
				case <-woken:
				case <-limited(t).Done():
					require.FailNow(t, "the waiter was not woken", "%q", g.Key.Name)
				}
				stop()
			}
			b.CloseIdle(t.Context())
		})
	}
}

// If client_encoding differs from the database's encoding, the server converts names, which is impossible for some
// characters. Such a name is refused at once with a permanent error that names the field, and nothing is stored. A
// driver that sets no client_encoding, such as pgx, accepts every name.
func TestWhatTheEncodingHasNoFormForIsRefusedByField(t *testing.T) {
	t.Parallel()
	dsn := testenv.PostgresEncoded(t, "LATIN1")
	db, err := sql.Open("pgx", dsn+"&client_encoding=UTF8")
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, db.Close()) })
	testschema.Install(t, db, migrations.Postgres)
	b := sqllock.Postgres(db)
	g := acquire(t, b, request("Zoë"))
	require.NoError(t, b.Release(t.Context(), g))

	byName, byHolder := request("日本"), request("job")
	byHolder.Holder = "host 😀"
	for field, r := range map[string]driver.Request{`name "日本"`: byName, `holder "host 😀"`: byHolder} {
		_, err := b.Acquire(t.Context(), r)
		require.ErrorContains(t, err, field)
		require.ErrorContains(t, err, "encoding")
		assert.True(t, driver.IsPermanent(err), "%v", err)
	}
	list, err := b.List(t.Context(), "", true)
	require.NoError(t, err)
	require.Len(t, list, 1)
	assert.Equal(t, "Zoë", list[0].Key.Name)

	plain, err := sql.Open("pgx", dsn)
	require.NoError(t, err)
	t.Cleanup(func() { assert.NoError(t, plain.Close()) })
	acquire(t, sqllock.Postgres(plain), byName)
}

// smallPacket is the packet limit of the next two tests. The default limit is 16 MB on MariaDB and 64 MB on MySQL.
const smallPacket = 256 << 10

// Promise 11 of docs/guarantees.md: no packet of a thousand renewals with the longest names is larger than a quarter of
// a megabyte.
func TestTheLongestNamesFitIntoAPacket(t *testing.T) {
	t.Parallel()
	for name, dsn := range map[string]func(testing.TB) string{testenv.EngineMySQL: testenv.MySQL, testenv.EngineMariaDB: testenv.MariaDB} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var largest atomic.Int64
			renewsTheLongestNames(t, openMeasured(t, dsn(t), func(packet []byte) {
				for {
					size := largest.Load()
					if int64(len(packet)) <= size || largest.CompareAndSwap(size, int64(len(packet))) {
						return
					}
				}
			}))
			assert.Greater(t, largest.Load(), int64(smallPacket/10))
			assert.Less(t, largest.Load(), int64(smallPacket))
		})
	}
}

// The same on servers that accept no larger packet.
func TestCompatTheLongestNamesFitIntoAPacket(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]string{testenv.EngineMySQL: testserver.MySQL, testenv.EngineMariaDB: testserver.MariaDB} {
		t.Run(name, func(t *testing.T) {
			testenv.Compat(t)
			t.Parallel()
			testenv.DSN(t, name) // skips the test where no such server is available
			s, err := testserver.Start(limited(t), engine, testserver.Options{Args: []string{fmt.Sprintf("--max-allowed-packet=%d", smallPacket)}})
			require.NoError(t, err)
			t.Cleanup(s.Stop)
			renewsTheLongestNames(t, openMySQL(t, s.DSN, nil))
		})
	}
}

// renewsTheLongestNames renews a thousand leases in one batch. A few of them were granted.
func renewsTheLongestNames(t *testing.T, db *sql.DB) {
	t.Helper()
	testschema.Install(t, db, migrations.MySQL)
	b := sqllock.MySQL(db)
	grants := make([]driver.Grant, 1000)
	want := make([]driver.Outcome, len(grants))
	for i := range grants {
		r := request(fmt.Sprintf("%s%03d", strings.Repeat("x", driver.MaxName-3), i))
		r.Key.Namespace = strings.Repeat("n", driver.MaxNamespace)
		grants[i] = driver.Grant{Key: r.Key, Nonce: r.Nonce, Token: 1, TTL: r.TTL}
		want[i] = driver.Lost
		if i%50 == 7 {
			grants[i], want[i] = acquire(t, b, r), driver.Renewed
		}
	}
	outcomes, err := b.Renew(t.Context(), grants)
	require.NoError(t, err)
	assert.Equal(t, want, outcomes)
}

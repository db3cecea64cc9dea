package cli

import (
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// eachDemoStore calls the function test several times: once without options, and once for a store of each kind whose
// tables exist. The parameter where contains the options that name the store.
func eachDemoStore(t *testing.T, test func(t *testing.T, where ...string)) {
	t.Helper()
	t.Parallel()
	for name, open := range map[string]func(*testing.T) string{
		"default":  func(*testing.T) string { return "" },
		"sqlite":   func(t *testing.T) string { return "sqlite:" + filepath.Join(t.TempDir(), "locks.db") },
		"postgres": func(t *testing.T) string { return testenv.Postgres(t) },
		"mysql":    func(t *testing.T) string { return testenv.MySQL(t) },
		"mariadb":  func(t *testing.T) string { return testenv.MariaDB(t) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := open(t)
			if store == "" {
				test(t)
				return
			}
			code, _, stderr := rowlockMain(t, "migrate", "up", "--store", store)
			require.Zero(t, code, stderr)
			test(t, "--store", store)
		})
	}
}

const demoBegin = `The balance is 100. A withdraws 30, B deposits 50, each under the same lock.
A is suspended for longer than its lease of 1s.

       worker A                             worker B
0.0 s  gets the lock
       token 1
0.0 s  reads the balance: 100
0.0 s  is suspended: nothing renews its lease
0.0 s                                       A's lease has expired: gets the lock
                                            token 2
0.0 s                                       reads the balance: 100
0.0 s                                       writes 150, releases the lock
0.0 s  continues, and has not noticed
       writes what it computed: 70
`

const demoFenced = demoBegin + `0.0 s  REJECTED by the fence: stale, for
       the newest token is 2
0.0 s  starts again: gets the lock
       token 3
0.0 s  reads the balance: 150
0.0 s  writes 120, releases the lock

The database rejected A's stale write, and B's deposit was kept.
The balance is 120, as it should be: 100 - 30 + 50 = 120.
`

// demoScript is what psql adds on Postgres.
const demoScript = `0.0 s  runs a psql script, also too late
0.0 s  REJECTED by the fence: psql stops
`

const demoDamage = demoBegin + `0.0 s  is not rejected

A lost update: A wrote over B's deposit, and no error was reported.
The balance is 70, and should be 100 - 30 + 50 = 120.
`

var (
	demoTokens = regexp.MustCompile(`\d{16}`)
	demoTimes  = regexp.MustCompile(`(?m)^ *\d+\.\d s`)
)

// toldOf returns the output in a form that is equal for every run. It replaces all times by 0.0 s, and tokens by their
// rank. It removes the store's address. It also removes the line that says that B waits: on a slow machine A's lease
// may expire before B has to wait.
func toldOf(t *testing.T, out string) string {
	t.Helper()
	var kept strings.Builder
	for line := range strings.Lines(out) {
		assert.True(t, len(line) <= 81 || strings.HasPrefix(line, "In "), "80 columns: %s", line)
		if !strings.Contains(line, "so B waits") {
			kept.WriteString(line)
		}
	}
	out = kept.String()
	if where, rest, ok := strings.Cut(out, "dropped at the end.\n\n"); ok {
		assert.True(t, strings.HasPrefix(where, "In "), where)
		out = rest
	}
	numbers, last := map[string]string{}, ""
	for _, token := range demoTokens.FindAllString(out, -1) {
		if numbers[token] == "" {
			assert.Greater(t, token, last, "tokens rise")
			last, numbers[token] = token, strconv.Itoa(len(numbers)+1)
		}
	}
	out = demoTokens.ReplaceAllStringFunc(out, func(token string) string { return numbers[token] })
	return demoTimes.ReplaceAllString(out, "0.0 s")
}

// With the fence the stale write is rejected, and the balance is correct. Without the fence the output shows the lost
// update. The output is the same in each run, except for times and tokens. The second run finds no rows of the first
// run.
func TestDemo(t *testing.T) {
	eachDemoStore(t, func(t *testing.T, where ...string) {
		onPostgres := strings.Contains(strings.Join(where, " "), "postgres")
		if onPostgres {
			_, err := testserver.Psql(t.Context(), testserver.Options{Logf: t.Logf})
			if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
				t.Skip(err)
			}
			require.NoError(t, err)
		}
		for option, told := range map[string]string{"--no-fence=false": demoFenced, "--no-fence": demoDamage} {
			code, stdout, stderr := rowlockMain(t, append([]string{"demo", option}, where...)...)
			require.Zero(t, code, stderr)
			if told == demoFenced && onPostgres {
				told = strings.Replace(told, "0.0 s  starts again", demoScript+"0.0 s  starts again", 1)
			}
			assert.Equal(t, told, toldOf(t, stdout))
			assert.Empty(t, stderr)
		}
	})
}

// The whole stock is sold, and no piece is sold twice.
func TestDemoStock(t *testing.T) {
	eachDemoStore(t, func(t *testing.T, where ...string) {
		code, stdout, stderr := rowlockMain(t, append([]string{"demo", "stock", "--workers", "5", "--stock", "23"}, where...)...)
		require.Zero(t, code, stderr)
		assert.Empty(t, stderr)
		assert.Contains(t, stdout, "23 to sell, 5 selling. Each sale is one lock and one fenced transaction.\n")
		assert.Regexp(t, `\ntotal          23 sold of 23 in \d+\.\d s, 0 left: nothing was oversold\.\n$`, stdout)
		sum := 0
		sold := regexp.MustCompile(`(?m)^worker \d +(\d+) sold$`).FindAllStringSubmatch(stdout, -1)
		for _, line := range sold {
			n, err := strconv.Atoi(line[1])
			require.NoError(t, err)
			sum += n
		}
		assert.Len(t, sold, 5)
		assert.Equal(t, 23, sum)
	})
}

// In a database without the lock tables, a demonstration creates nothing, and says how to create the tables.
// If a table rowlock_demo already exists, the demonstration fails, and does not drop that table.
func TestDemoTouchesNothingOfOthers(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "app.db")
	a := &app{store: file, table: "rowlock_lease"}
	s, err := a.openUnmigrated(t.Context())
	require.NoError(t, err)
	defer s.Close()
	_, err = s.DB.ExecContext(t.Context(), "CREATE TABLE rowlock_demo (mine INTEGER)")
	require.NoError(t, err)

	code, stdout, stderr := rowlockMain(t, "demo", "--store", file)
	assert.Equal(t, exit.Unavailable, code)
	assert.Contains(t, stderr, "create it with: rowlock migrate up --store "+file)
	assert.Empty(t, stdout)

	code, _, stderr = rowlockMain(t, "migrate", "up", "--store", file)
	require.Zero(t, code, stderr)
	code, stdout, stderr = rowlockMain(t, "demo", "--store", file)
	assert.Equal(t, exit.Unavailable, code)
	assert.Contains(t, stderr, "create the table rowlock_demo, which must not exist")
	assert.Empty(t, stdout)
	_, err = s.DB.ExecContext(t.Context(), "INSERT INTO rowlock_demo (mine) VALUES (1)")
	require.NoError(t, err, "it is as it was")
}

// In a database that has the lock table but no fence table, the demonstration says how to create the fence table,
// and drops the table rowlock_demo.
func TestDemoWithoutFenceTable(t *testing.T) {
	t.Parallel()
	file := "sqlite:" + filepath.Join(t.TempDir(), "locks.db")
	code, _, stderr := rowlockMain(t, "migrate", "up", "--store", file)
	require.Zero(t, code, stderr)
	db, err := sql.Open("sqlite", strings.TrimPrefix(file, "sqlite:"))
	require.NoError(t, err)
	_, err = db.ExecContext(t.Context(), "DROP TABLE rowlock_lease_fence")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	for range 2 {
		code, _, stderr := rowlockMain(t, "demo", "stock", "--store", file)
		assert.Equal(t, exit.Unavailable, code)
		assert.Contains(t, stderr, "the fence table rowlock_lease_fence is missing or out of date in "+file+"; create it with: rowlock migrate up")
	}
}

// An invalid option of the demonstrations is a usage error.
func TestDemoUsage(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"stock", "--workers", "0"}, {"stock", "--stock", "100000"}, {"stock", "--no-fence"}, {"stick"}} {
		code, _, stderr := rowlockMain(t, append([]string{"demo"}, args...)...)
		assert.Equal(t, exit.Usage, code, "%v: %s", args, stderr)
	}
}

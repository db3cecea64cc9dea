package docs_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	_ "github.com/go-sql-driver/mysql"
	_ "github.com/jackc/pgx/v5/stdlib"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/docs"
	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/migrations"
)

// servers maps a page to the servers on which the blocks of that page must run.
var servers = map[string][]string{
	"docs/postgres.md":       {"PostgreSQL"},
	"docs/locks-from-sql.md": {"PostgreSQL"},
	"docs/advisory.md":       {"PostgreSQL"},
	"docs/mysql.md":          {"MySQL", "MariaDB"},
	"docs/getlock.md":        {"MySQL", "MariaDB"},
	"docs/fencing.md":        {"PostgreSQL", "MySQL", "MariaDB"},
}

// ofOne matches the first line of a block that names its own servers. The block then runs on these servers instead of
// those of its page.
var ofOne = regexp.MustCompile(`^-- (PostgreSQL|MySQL and MariaDB|SQLite)\b`)

// Every block of SQL runs on each of its servers, in a new database with all tables of the migrations.
// If a block grants privileges, it grants them to a test account.
func TestSQLRuns(t *testing.T) {
	t.Parallel()
	for _, b := range blocks(t, "sql") {
		if b.File() != "" {
			continue // TestConsolesRun runs it
		}
		on := servers[b.Page]
		if m := ofOne.FindStringSubmatch(b.Text); m != nil {
			on = strings.Split(m[1], " and ")
		}
		require.NotEmpty(t, on, "%s: its first line has to name its server", b)
		for _, server := range on {
			t.Run(b.String()+" on "+server, func(t *testing.T) {
				t.Parallel()
				run(t, server, b)
			})
		}
	}
}

// A block of docs/protocol.md that names a file is that file, byte for byte. The author of a client copies the
// statements from the page.
func TestQuotedStatementsAreTheFiles(t *testing.T) {
	t.Parallel()
	found := 0
	for _, b := range blocks(t, "sql") {
		if b.Page != "docs/protocol.md" {
			continue
		}
		found++
		require.NotEmpty(t, b.File(), b)
		want, err := os.ReadFile(filepath.Join(root, b.File()))
		require.NoError(t, err)
		_, got, _ := strings.Cut(b.Text, "\n")
		require.Equal(t, string(want), got, "%s is not %s", b, b.File())
	}
	require.Greater(t, found, 5)
}

func run(t *testing.T, server string, b docs.Block) {
	t.Helper()
	db, _, account := database(t, server)
	_, err := db.ExecContext(t.Context(), "CREATE TABLE orders (id bigint PRIMARY KEY, total bigint NOT NULL)")
	require.NoError(t, err)
	for _, statement := range statements(b.Text) {
		statement = regexp.MustCompile(`\b(TO|FROM|ROLE|USER) app\b`).ReplaceAllString(statement, "$1 "+account)
		_, err := db.ExecContext(t.Context(), statement)
		require.NoError(t, err, "%s\n%s", b, statement)
	}
}

// statements returns the statements of a script, without its comments.
func statements(text string) (all []string) {
	text = regexp.MustCompile(`(?m)--.*$`).ReplaceAllString(text, "")
	for _, s := range strings.Split(text, ";") {
		if s = strings.TrimSpace(s); s != "" {
			all = append(all, s)
		}
	}
	return all
}

// database returns a new database with all tables and functions, and an account for grants.
func database(t *testing.T, server string) (db *sql.DB, dsn, account string) {
	t.Helper()
	account = "app_" + driver.NewNonce().String()[:8]
	open := func(name, at string, dialect migrations.Dialect) {
		var err error
		dsn = at
		db, err = sql.Open(name, dsn)
		require.NoError(t, err)
		t.Cleanup(func() { _ = db.Close() })
		require.NoError(t, migrations.Up(t.Context(), db, dialect))
	}
	exec := func(statement string) {
		_, err := db.ExecContext(context.Background(), statement)
		require.NoError(t, err)
	}
	switch server {
	case "PostgreSQL":
		open("pgx", testenv.Postgres(t), migrations.Postgres)
		require.NoError(t, migrations.Up(t.Context(), db, migrations.Postgres, migrations.Functions()))
		exec("CREATE ROLE " + account)
		t.Cleanup(func() { exec("DROP OWNED BY " + account); exec("DROP ROLE " + account) })
	case "MySQL":
		open("mysql", testenv.MySQL(t), migrations.MySQL)
		require.NoError(t, migrations.Up(t.Context(), db, migrations.MySQL, migrations.Functions()))
		exec("CREATE USER " + account)
		t.Cleanup(func() { exec("DROP USER " + account) })
	case "MariaDB":
		open("mysql", testenv.MariaDB(t), migrations.MySQL)
		require.NoError(t, migrations.Up(t.Context(), db, migrations.MySQL, migrations.Functions()))
		exec("CREATE USER " + account)
		t.Cleanup(func() { exec("DROP USER " + account) })
	default:
		open("sqlite", filepath.Join(t.TempDir(), "app.db"), migrations.SQLite)
	}
	return db, dsn, account
}

//go:build unix

package main

import (
	"database/sql"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// executor runs SQL statements as the administrator of a database.
type executor struct {
	db *sql.DB
}

func newExecutor(tb testing.TB, driver, dsn string) executor {
	tb.Helper()
	db, err := sql.Open(driver, dsn)
	require.NoError(tb, err)
	tb.Cleanup(func() { _ = db.Close() })
	return executor{db}
}

func (e executor) do(tb testing.TB, statements ...string) {
	tb.Helper()
	for _, statement := range statements {
		_, err := e.db.ExecContext(tb.Context(), statement)
		require.NoError(tb, err, statement)
	}
}

var pasted = regexp.MustCompile(`(?:GRANT|USE) [^;]*;`)

// paste runs the statements that the doctor prints, without changing them.
func (e executor) paste(tb testing.TB, d diagnosis) {
	tb.Helper()
	for _, f := range d.Findings {
		e.do(tb, pasted.FindAllString(f.Do, -1)...)
	}
}

// refuses checks that doctor reports missing privileges as a problem. No line of the output may say that this user has
// all privileges.
func refuses(tb testing.TB, d diagnosis) {
	tb.Helper()
	assert.Contains(tb, d.text(), "problem privileges")
	assert.NotContains(tb, d.text(), "has all privileges that a lock needs")
	assert.NotContains(tb, d.text(), "migrate up", "the tables exist")
}

// For a user without any privilege, doctor never says that the user has all privileges. The statements that doctor
// prints can be pasted unchanged, and grant every privilege that a lock needs. The test includes the privilege to
// connect, the privileges on tables, a schema that the user may not use, and names that need quotes.
func TestDoctorBringsAPostgresUserWithoutRightsToALock(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	good := migrated(t, w, testenv.Postgres(t))
	admin := newExecutor(t, "pgx", good)
	database := databaseOf(good)
	name := "No rights " + strings.TrimPrefix(database, "rowlock_")
	role := `"` + name + `"`
	admin.do(t, "CREATE ROLE "+role+" LOGIN",
		"REVOKE ALL ON DATABASE "+database+" FROM PUBLIC", "REVOKE ALL ON SCHEMA public FROM PUBLIC")
	defer admin.do(t, "DROP OWNED BY "+role, "DROP ROLE "+role)
	u, err := url.Parse(good)
	require.NoError(t, err)
	u.User = url.User(name)

	_, d := w.doctor(t, u.String())
	refuses(t, d)
	assert.Contains(t, d.text(), `GRANT CONNECT ON DATABASE "`+database+`" TO `+role+";")
	admin.paste(t, d)
	for _, store := range []string{u.String(), advisoryOf(u.String())} {
		_, d = w.doctor(t, store)
		refuses(t, d)
		assert.Contains(t, d.text(), "GRANT USAGE ON SCHEMA public TO "+role+";")
	}
	admin.paste(t, d)
	for _, store := range []string{u.String(), advisoryOf(u.String())} {
		_, d = w.doctor(t, store)
		refuses(t, d)
		admin.paste(t, d)
		_, d = w.doctor(t, store)
		assert.Contains(t, d.text(), "this user has all privileges that a lock needs")
		code, output := w.call(t, "run", "job", "--store", store, "--", "echo", "done")
		assert.Zero(t, code, output)
		assert.Equal(t, "done\n", output)
	}
}

// This test checks the same on MySQL. There a user that has no privilege in a database cannot connect to the database,
// and does not see its tables.
func TestDoctorBringsAMySQLUserWithoutRightsToALock(t *testing.T) {
	t.Parallel()
	bringsAMySQLUser(t, testenv.MySQL(t))
}

// TestCompatDoctorBringsAMariaDBUserWithoutRightsToALock shows the same on MariaDB.
func TestCompatDoctorBringsAMariaDBUserWithoutRightsToALock(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	bringsAMySQLUser(t, testenv.MariaDB(t))
}

func bringsAMySQLUser(t *testing.T, store string) {
	t.Helper()
	w := newWorkplace(t)
	migrated(t, w, store)
	admin := newExecutor(t, "mysql", store)
	admin.db.SetMaxOpenConns(1) // USE applies only to the connection on which it runs
	var database string
	require.NoError(t, admin.db.QueryRowContext(t.Context(), "SELECT DATABASE()").Scan(&database))
	user := "no-rights-" + strings.TrimPrefix(database, "rowlock_")
	user = user[:min(len(user), 32)] // MySQL allows user names of 32 characters
	_, at, found := strings.Cut(store, "@")
	require.True(t, found)
	lesser := user + ":s3cret-Of-doctor@" + at
	for _, of := range []string{lesser, "mysql-getlock:" + lesser} {
		admin.do(t, "CREATE USER '"+user+"'@'%' IDENTIFIED BY 's3cret-Of-doctor'")
		_, d := w.doctor(t, of)
		refuses(t, d)
		assert.Contains(t, d.text(), "ON rowlock_lease_run TO '"+user+"'@'%';")

		admin.do(t, "GRANT DELETE ON rowlock_lease_run TO '"+user+"'@'%'") // any privilege in the database lets the user connect to it
		_, d = w.doctor(t, of)
		refuses(t, d)
		assert.Contains(t, d.text(), "warning schema: this user may not see whether the tables exist")
		admin.paste(t, d)
		_, d = w.doctor(t, of)
		assert.Contains(t, d.text(), "this user has all privileges that a lock needs")
		code, output := w.call(t, "run", "job", "--store", of, "--", "echo", "done")
		assert.Zero(t, code, output)
		assert.Equal(t, "done\n", output)
		admin.do(t, "DROP USER '"+user+"'@'%'")
	}
}

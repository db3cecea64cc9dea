//go:build unix

package processes_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	mysqldriver "github.com/go-sql-driver/mysql"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testserver"
)

// kind is a way to write a worker of a chain.
type kind struct {
	name  string
	argv  []string
	child bool // a child of "rowlock run" does the work
}

// onServers are the databases that all kinds of workers can use.
var onServers = []string{"postgres", "mysql", "mariadb"}

// kinds are the kinds of workers in a mixed fleet. The first kind is that of all workers of other fleets.
var kinds = []kind{
	{name: "Go", argv: []string{os.Args[0]}},
	{name: "Go child", argv: []string{"sh", "testdata/run.sh", os.Args[0]}, child: true},
	{name: "shell", argv: []string{"sh", "testdata/run.sh", "sh", "testdata/script.sh"}, child: true},
	{name: "functions", argv: []string{"sh", "testdata/functions.sh"}},
	{name: "Python", argv: []string{"sh", "-c", `exec "$PYTHON" testdata/chain.py`}},
}

// commandVariable makes the test's program behave as the command rowlock.
const commandVariable = "ROWLOCK_TEST_AS_COMMAND"

// kind returns the kind of the worker. The workers of a chain have different kinds, if there are enough kinds. With five
// kinds, each of the two chains lacks one kind.
func (j job) kind() kind {
	if !j.Mixed {
		return kinds[0]
	}
	i := j.Worker % mixedWorkers
	return kinds[(i/names+i%names)%len(kinds)]
}

// environment returns the variables of the scripts.
func (j job) environment() []string {
	if !j.Mixed {
		return nil
	}
	checks := ""
	if programs[j.Program].fenced {
		checks = "yes"
	}
	return append([]string{
		"ROWLOCK_STORE=" + j.DSN, "BINARY=" + os.Args[0], "CHECKS=" + checks, "CHAIN=" + chainName(j.name()), "ID=" + fmt.Sprint(j.name()),
		"WORKER=" + fmt.Sprint(j.Worker), fmt.Sprintf("TTL=%g", ttl.Seconds()),
	}, j.Environ...)
}

// inherit is the main function of a Go child of "rowlock run".
func (w worker) inherit() {
	defer func() { _ = w.db.Close() }()
	_, lease, err := rowlock.FromEnvironment(context.Background())
	if err != nil {
		w.tell(event{What: outcome(err), Detail: err.Error()})
		return
	}
	w.use(lease)
	_ = lease.Release(context.Background())
	w.tell(event{What: released, Token: lease.Token()})
}

// programsOf provides the programs that the workers of a store need, and returns the variables by which the scripts
// find them.
func programsOf(t *testing.T, store, dsn string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	provided := func(provide func(context.Context, testserver.Options) (string, error)) string {
		path, err := provide(ctx, testserver.Options{Logf: t.Logf})
		if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
			t.Skip(err)
		}
		require.NoError(t, err)
		return path
	}
	client, err := filepath.Abs("../../clients/python")
	require.NoError(t, err)
	python := []string{"PYTHON=" + provided(testserver.Python), "PYTHONPATH=" + client}
	if store == "postgres" {
		return append(python, "CONSOLE=psql", "PSQL="+provided(testserver.Psql))
	}
	return append(python, "CONSOLE=mysql", "MYSQL="+provided(testserver.MySQLConsole), "MYSQL_OPTIONS="+consoleOptions(t, dsn))
}

// consoleOptions writes an option file for the console of MySQL and MariaDB, and returns its path.
func consoleOptions(t *testing.T, dsn string) string {
	t.Helper()
	config, err := mysqldriver.ParseDSN(dsn)
	require.NoError(t, err)
	host, port, err := net.SplitHostPort(config.Addr)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "options")
	text := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\ndatabase=%s\nloose-skip-ssl\n", host, port, config.User, config.Passwd, config.DBName)
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

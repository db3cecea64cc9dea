//go:build unix

package processes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/testserver"
)

// kind is a way to write a worker of a chain.
type kind struct {
	name   string
	argv   []string
	stores []string // the databases on which this kind can work
}

var (
	onPostgres = []string{"postgres"}
	onServers  = []string{"postgres", "mysql", "mariadb"}
)

// kinds are the kinds of workers in a mixed fleet. The first kind is that of all workers of other fleets.
var kinds = []kind{
	{"Go", []string{os.Args[0]}, onServers},
	{"Go child", []string{"sh", "testdata/run.sh", os.Args[0]}, onServers},
	{"shell", []string{"sh", "testdata/run.sh", "sh", "testdata/script.sh"}, onPostgres},
	{"functions", []string{"sh", "testdata/functions.sh"}, onPostgres},
	{"Python", []string{"sh", "-c", `exec "$PYTHON" testdata/chain.py`}, onServers},
}

// commandVariable makes the test's program behave as the command rowlock.
const commandVariable = "ROWLOCK_TEST_AS_COMMAND"

// kind returns the kind of the worker. The workers of a chain have different kinds, if there are enough kinds. With five
// kinds, each of the two chains lacks one kind.
func (j job) kind() kind {
	if !j.Mixed {
		return kinds[0]
	}
	var possible []kind
	for _, k := range kinds {
		if slices.Contains(k.stores, j.Store) {
			possible = append(possible, k)
		}
	}
	i := j.Worker % workers
	return possible[(i/names+i%names)%len(possible)]
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
func programsOf(t *testing.T, store string) []string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	options := testserver.Options{Logf: t.Logf}
	psql, err := testserver.Psql(ctx, options)
	var python string
	if err == nil {
		python, err = testserver.Python(ctx, options)
	}
	if testserver.Missing(err) && os.Getenv("ROWLOCK_REQUIRE") != "all" {
		t.Skip(err)
	}
	require.NoError(t, err)
	client, err := filepath.Abs("../../clients/python")
	require.NoError(t, err)
	link := filepath.Join(t.TempDir(), "psql") // Debian's wrapper chooses the program by its own name
	require.NoError(t, os.Symlink(psql, link))
	return []string{"PSQL=" + link, "PYTHON=" + python, "PYTHONPATH=" + client}
}

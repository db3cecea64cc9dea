//go:build unix

package main

import (
	"net/url"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// When the lock is lost, rowlock kills a command that ignores TERM before the lease ends in the store. This also holds
// if --grace is longer than the lease. When the next holder acquires the lock, no process of the command is running.
func TestTheGraceEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	graceEnds(t, w, redisStore(t, w), shorterTTL)
}

// TestCompatTheGraceEndsBeforeTheLease shows the same on other kinds of store.
func TestCompatTheGraceEndsBeforeTheLease(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, workplace) string{
		"postgres": func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.Postgres(tb)) },
		"etcd":     etcdStore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			w := newWorkplace(t)
			graceEnds(t, w, open(t, w), "20s")
		})
	}
}

func graceEnds(t *testing.T, w workplace, direct, ttl string) {
	t.Helper()
	u, err := url.Parse(direct)
	require.NoError(t, err)
	cable := newCable(t, u.Host, nil)
	u.Host = cable.address
	_, end := w.holds(t, "job", "--ttl", ttl, "--grace", "40s", "--store", u.String(), "--", "sh", "-c",
		`trap "echo >termed" TERM; echo $$ >group; echo ready; while :; do read _ <block; done`)
	cable.cut.Store(true)
	output, err := w.command(t, scriptTimeout, "rowlock", "run", "job", "--wait", "2m", "--store", direct, "--", "sh", "-c",
		`read group <group; kill -s KILL -- -$group && touch overlap; true`).CombinedOutput()
	require.NoError(t, err, "%s", output)
	code, messages := end()
	require.Equal(t, 79, code, messages)
	assert.FileExists(t, filepath.Join(w.dir, "termed"), "it received TERM first")
	assert.NoFileExists(t, filepath.Join(w.dir, "overlap"), messages)
}

//go:build unix

package main

import (
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// If the network to the store fails while the command runs, rowlock stops the command before the TTL has passed.
// The exit code says that the lock was lost, because another process may acquire the lock after the TTL.
func TestCutOffFromTheStoreIsLost(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	cutOff(t, w, redisStore(t, w), shorterTTL)
}

// TestCompatCutOffFromTheStoreIsLost shows the same on other kinds of store.
func TestCompatCutOffFromTheStoreIsLost(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(testing.TB, workplace) string{
		"postgres": func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.Postgres(tb)) },
		"etcd":     etcdStore, "zookeeper": zookeeperStore,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			w := newWorkplace(t)
			cutOff(t, w, open(t, w), "15s")
		})
	}
}

func cutOff(t *testing.T, w workplace, direct, ttl string) {
	t.Helper()
	u, err := url.Parse(direct)
	require.NoError(t, err)
	cable := newCable(t, u.Host, nil)
	u.Host = cable.address
	grandchild, end := w.holds(t, "job", "--ttl", ttl, "--store", u.String(), "--", "sh", "-c", `sh -c 'echo $$; read _ <block' & wait`)
	cable.cut.Store(true)
	cut := time.Now()
	code, messages := end()
	require.Equal(t, 79, code, messages)
	require.Contains(t, messages, "no renewal succeeded before the deadline; the last attempt: ")
	require.Contains(t, messages, "; stopping the command")
	// The limit is the TTL, plus the time that rowlock waits for an answer to the release.
	require.Less(t, time.Since(cut), 50*time.Second)
	output, err := w.command(t, scriptTimeout, "sh", "-c", "! kill -0 "+grandchild).CombinedOutput()
	require.NoError(t, err, "the command's child is still alive: %s", output)
	output, err = w.command(t, scriptTimeout, "rowlock", "run", "job", "--wait", "40s", "--store", direct, "--", "echo", "next").CombinedOutput()
	require.NoError(t, err, "%s", output)
}

//go:build unix

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testserver"
)

// If an error of the library advises a programmer to change an option, the command advises the equivalent option of the
// command line. The advice works as printed.
func TestAdviceIsForTheCommandLine(t *testing.T) {
	t.Parallel()
	w := newWorkplace(t)
	never := filepath.Join(w.dir, "never")
	evicting := "redis://" + startServer(t, testserver.Redis, "--maxmemory-policy", "allkeys-lru").Addr
	part := startServer(t, testserver.Redis, "--cluster-enabled", "yes").Addr
	wholeCluster(t, part)
	for _, advice := range []struct{ store, said, then string }{
		{evicting, "accept evictions with allow_eviction=true in --store", evicting + "?allow_eviction=true"},
		{"redis://" + part, "write redis+cluster://HOST:PORT for --store", "redis+cluster://" + part},
		{evicting + "?allow_eviction=true&replicas=1&replica_wait=100ms", "0 of 1 replicas", evicting + "?allow_eviction=true"},
	} {
		code, output := w.call(t, "run", "job", "--store", advice.store, "--", "touch", never)
		require.Equal(t, 69, code, output)
		require.Contains(t, output, advice.said)
		code, output = w.call(t, "run", "job", "--store", advice.then, "--", "true")
		require.Zero(t, code, output)
	}
	require.NoFileExists(t, never)
}

// A Redlock server that may have lost its data grants no locks for some time. While a majority of the servers grants
// nothing, rowlock reports the lock as held, and the message says why.
func TestRedlockWithoutAVoteIsHeld(t *testing.T) {
	t.Parallel()
	var addrs []string
	for range 3 {
		addrs = append(addrs, startServer(t, testserver.Redis).Addr)
	}
	w := newWorkplace(t)
	never := filepath.Join(w.dir, "never")
	code, output := w.call(t, "run", "job", "--store", "redlock://"+strings.Join(addrs, ",")+"?node_timeout=5s", "--", "touch", never)
	require.Equal(t, 75, code, output)
	require.Contains(t, output, `"job" is closed after a change of server`)
	require.NoFileExists(t, never)
}

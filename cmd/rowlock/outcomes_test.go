//go:build unix

package main

import (
	"context"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
	"github.com/rowlock/rowlock/internal/testserver"
)

// ownStores maps each kind of store to a function that starts servers which only one test uses.
var ownStores = map[string]func(testing.TB) (store string, servers []*testserver.Server){
	"redis": func(tb testing.TB) (string, []*testserver.Server) {
		s := startServer(tb, testserver.Redis)
		return "redis://" + s.Addr, []*testserver.Server{s}
	},
	"redis-cluster": func(tb testing.TB) (string, []*testserver.Server) {
		s := startServer(tb, testserver.Redis, "--cluster-enabled", "yes")
		wholeCluster(tb, s.Addr)
		return "redis+cluster://" + s.Addr, []*testserver.Server{s}
	},
	"redlock": func(tb testing.TB) (string, []*testserver.Server) {
		store, servers := "redlock://", []*testserver.Server(nil)
		for range 3 {
			s := startServer(tb, testserver.Redis)
			store, servers = store+s.Addr+",", append(servers, s)
		}
		return strings.TrimSuffix(store, ",") + "?max_ttl=10s&node_timeout=2s", servers // a new server grants locks only after max_ttl
	},
	"etcd": func(tb testing.TB) (string, []*testserver.Server) {
		s := startServer(tb, testserver.Etcd)
		return "etcd://" + s.Addr, []*testserver.Server{s}
	},
}

// If the server dies while the command runs, rowlock stops the command before the TTL has passed, and the exit code
// says that the lock was lost. Until the server runs again, every subcommand reports an unavailable store.
// After the restart the lock is free.
func TestServerKilledWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	serverKilled(t, "redis", shorterTTL)
}

// TestCompatServerKilledWhileTheCommandRuns shows the same on other kinds of store.
func TestCompatServerKilledWhileTheCommandRuns(t *testing.T) {
	t.Parallel()
	for name := range ownStores {
		if name == "redis" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.Compat(t)
			serverKilled(t, name, "10s")
		})
	}
}

func serverKilled(t *testing.T, name, ttl string) {
	t.Helper()
	store, servers := ownStores[name](t)
	w := newWorkplace(t)
	w.env = append(w.env, "ROWLOCK_STORE="+store)
	command, end := w.holds(t, "job", "--ttl", ttl, "--wait", "1m", "--", "sh", "-c", `echo $$; read _ <block`)

	for _, server := range servers {
		server.Kill()
	}
	killed := time.Now()
	code, messages := end()
	require.Equal(t, 79, code, messages)
	require.Contains(t, messages, "stopping the command")
	require.Less(t, time.Since(killed), 30*time.Second)
	output, err := w.command(t, scriptTimeout, "sh", "-c", "! kill -0 "+command).CombinedOutput()
	require.NoError(t, err, "the command is still alive: %s", output)

	for _, args := range [][]string{{"run", "job", "--ttl", ttl, "--", "touch", "never"}, {"status", "job"}, {"release", "job", "--token", "1"}} {
		code, said := w.run(t, args...)
		require.Equal(t, 69, code, "%v: %s", args, said)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, server := range servers {
		require.NoError(t, server.Restart(ctx))
	}
	code, said := w.run(t, "run", "job", "--ttl", ttl, "--wait", "1m", "--", "touch", "next")
	require.Zero(t, code, said)
	require.NoFileExists(t, filepath.Join(w.dir, "never"))
	require.FileExists(t, filepath.Join(w.dir, "next"))
}

// If a release gets no reply, rowlock exits with a separate code, because the release may or may not have taken effect.
func TestReleaseWithoutAnAnswerIsUnknown(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		store   func(testing.TB, workplace) string
		release *regexp.Regexp // matches only the bytes of the release
	}{
		"redis":     {redisStore, regexp.MustCompile("lock-of-this-test")},
		"etcd":      {etcdStore, regexp.MustCompile("lock-of-this-test/%-x-[0-9a-f]{8}")},                                   // the holder's key
		"zookeeper": {zookeeperStore, regexp.MustCompile("\x00\x00\x00\x02\x00....\x00\x00\x00.[^\x00]*lock-of-this-test")}, // the bytes of an operation of type 2, which is delete, in a ZooKeeper transaction
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorkplace(t)
			store := test.store(t, w)
			u, err := url.Parse(store)
			require.NoError(t, err)
			u.Host = newCable(t, u.Host, test.release.Match).address
			w.env = append(w.env, "ROWLOCK_STORE="+store, "BROKEN="+u.String())
			output, err := w.command(t, scriptTimeout, "sh", "-euc", `
				mkfifo started block
				rowlock run lock-of-this-test -- sh -c 'echo $ROWLOCK_TOKEN >started; read _ <block' &
				trap 'kill $! 2>/dev/null || :; wait' EXIT
				read token <started
				code=0; rowlock release lock-of-this-test --live --token $token --store "$BROKEN" || code=$?
				echo "exit code $code"
				test $code = 74`).CombinedOutput()
			require.NoError(t, err, "%s", output)
			require.Contains(t, string(output), "the store did not answer, so the lock may or may not be released")
			require.Regexp(t, `; look with: rowlock status --store \S+ lock-of-this-test\n`, string(output))
		})
	}
}

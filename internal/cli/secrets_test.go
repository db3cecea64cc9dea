package cli

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const password = "s3cret-word"

// brokenStores lists addresses that contain a password. No server listens at these addresses.
var brokenStores = []string{
	"postgres://user:s3cret-word@127.0.0.1:1/db?sslmode=disable",
	"postgres-advisory://127.0.0.1:1/db?user=user&password=s3cret-word&sslmode=disable",
	"user:s3cret-word@tcp(127.0.0.1:1)/db",
	"mysql-getlock://user:s3cret-word@127.0.0.1:1/db",
	"redis://user:s3cret-word@127.0.0.1:1",
	"redis+cluster://user:s3cret-word@127.0.0.1:1",
	"redlock://user:s3cret-word@127.0.0.1:1,127.0.0.1:2,127.0.0.1:3?node_timeout=100ms",
	"etcd://user:s3cret-word@127.0.0.1:1",
	"zk://user:s3cret-word@127.0.0.1:1",
}

// unreadableStores lists addresses that contain a password, and are malformed or cannot be opened. All subcommands
// parse addresses with the same code.
var unreadableStores = []string{
	"postgres://user:s3cret-word@127.0.0.1:port/db",
	"postgres://user:s3cret-word@127.0.0.1:1/db?sslmode=nonsense",
	"postgres://user:s3cret-word@[::1/db",
	"user:s3cret-word@tcp(127.0.0.1:1",
	"mysql://user:s3cret-word@127.0.0.1:1/db?tls=nonsense",
	"redis://user:s3cret-word@127.0.0.1:1/word?bogus=s3cret-word",
	"etcds://user:s3cret-word@127.0.0.1:1/?ca=no-such-file",
	"zk://user:s3cret-word@127.0.0.1:1/a@b",
	// an unescaped slash, question mark or hash in a password ends the host part of the URL within the password
	"postgres://user:12/s3cret-word@127.0.0.1:1/db",
	"postgres://user:12?s3cret-word@127.0.0.1:1/db",
	"postgres://user:12#s3cret-word@127.0.0.1:1/db",
	"postgresql://user:12/s3cret-word@127.0.0.1:1/db",
	"postgres-advisory://user:12?s3cret-word@127.0.0.1:1/db",
	"mysql://user:12/s3cret-word@127.0.0.1:1/db",
	"mariadb://user:12/x?s3cret-word@127.0.0.1:1/db",
	"mysql-getlock://user:12/s3cret-word@127.0.0.1:1/db",
	"redis://user:12/s3cret-word@127.0.0.1:1",
	"redlock://user:12?s3cret-word@127.0.0.1:1",
	"etcd://user:12/s3cret-word@127.0.0.1:1",
	"zk://user:12/s3cret-word@127.0.0.1:1",
	"zk://user:12#s3cret-word@127.0.0.1:1",
	"s3cret-word",
}

// argumentsOf maps a subcommand to the arguments without which it does not open its store. Other subcommands need no
// arguments.
var argumentsOf = map[string][]string{
	"run": {"job", "--", "true"}, "release": {"--token", "1", "job"}, "status": {"job"}, "history": {"job"},
	"fence reset": {"--all"}, "fence prune": {"--unused", "30d"}, "completion": {"bash"},
}

// No output of a subcommand contains the password of the store: neither stdout, stderr, JSON messages nor the help.
// The store comes from an option or from a variable, and cannot be opened.
func TestPasswordsAreNeverWritten(t *testing.T) {
	t.Parallel()
	home := "HOME=" + t.TempDir()
	for path, cmd := range commands(t) {
		code, stdout, stderr := call(t, []string{home, "ROWLOCK_STORE=" + brokenStores[0]}, append(strings.Fields(path), "--help")...)
		require.Zero(t, code, path)
		assert.NotContains(t, stdout+stderr, password, "%s --help", path)
		if !cmd.Runnable() {
			continue
		}
		arguments, known := argumentsOf[path]
		if !known && strings.HasSuffix(cmd.Use, "NAME") {
			arguments = []string{"job"}
		}
		stores := brokenStores
		if path == "run" || path == "doctor" || path == "migrate print" {
			stores = slices.Concat(brokenStores, unreadableStores)
		}
		for i, store := range stores {
			env, args := []string{home}, slices.Concat(strings.Fields(path), []string{"--store", store}, arguments)
			switch {
			case i%3 == 1: // each store is tested in one of three ways: with the option --store, with the option and JSON messages, or with the variable ROWLOCK_STORE
				args = append([]string{"--log-format", "json"}, args...)
			case i%3 == 2 && cmd.Root().Name()+" demo" != strings.TrimSuffix(cmd.CommandPath(), " stock"): // the demonstration ignores the variable
				env, args = append(env, "ROWLOCK_STORE="+store), slices.Concat(strings.Fields(path), arguments)
			}
			t.Run(path+" "+strconv.Itoa(i), func(t *testing.T) {
				t.Parallel()
				_, stdout, stderr := call(t, env, args...)
				assert.NotContains(t, stdout+stderr, "s3cret", "%s with %s", path, store)
			})
		}
	}
}

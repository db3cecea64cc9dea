//go:build unix

package main

import (
	"database/sql"
	"path/filepath"
	"regexp"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	_ "modernc.org/sqlite"

	"github.com/rowlock/rowlock/internal/testenv"
)

// hangLimit is how long rowlock may take with a store that hangs: five seconds for a request, five for its repetition,
// five for withdrawing the request, and twice as long again for a slow machine, because all cases run at the same time.
const hangLimit = 45 * time.Second

// If a server accepts connections and never replies, every subcommand reports an unavailable store within hangLimit.
// rowlock does not start the command that needs the lock, and prints no password. This test waits for the time limits of
// production. TestServerThatHangsIsUnavailable in internal/cli shortens them.
func TestCompatServerThatHangsIsUnavailable(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	address := silentServer(t)
	var cases sync.WaitGroup // the cases run in parallel, because they only wait
	for _, store := range []string{
		"postgres://user:secret@" + address + "/db?sslmode=disable",
		"mysql://user:secret@" + address + "/db",
		"user:secret@tcp(" + address + ")/db",
		"postgres-advisory://user:secret@" + address + "/db?sslmode=disable",
		"mysql-getlock://user:secret@" + address + "/db",
		"redis://user:secret@" + address,
		"redis+cluster://user:secret@" + address,
		"etcd://user:secret@" + address,
		"redlock://user:secret@" + address + ",127.0.0.1:1,127.0.0.1:2",
		"etcd://" + address,
		"zk://user:secret@" + address,
	} {
		for _, args := range [][]string{
			{"run", "job", "--", "touch", "never"},
			{"run", "job", "--wait", "2s", "--", "touch", "never"},
			{"run", "job", "--wait", "inf", "--ttl", "5s", "--", "touch", "never"},
			{"ls"},
			{"status", "job"},
			{"release", "job", "--token", "1"},
			{"migrate", "up"},
		} {
			if args[0] == "migrate" && regexp.MustCompile("^(redis|redlock|etcd|zk)").MatchString(store) {
				// These stores have no tables, so migrate is a usage error. The script keyvalue_usage tests that error.
				continue
			}
			w := newWorkplace(t)
			cases.Go(func() { unavailable(t, w, append([]string{"--store", store}, args...)) })
		}
	}
	cases.Wait()
}

// If another program has locked the SQLite file, rowlock reports an unavailable store within hangLimit. This test waits
// for the time limits of production. TestLockedFileIsUnavailable in internal/cli shortens them.
func TestCompatLockedFileIsUnavailable(t *testing.T) {
	t.Parallel()
	testenv.Compat(t)
	w := newWorkplace(t)
	db, err := sql.Open("sqlite", filepath.Join(w.dir, "locks.db"))
	require.NoError(t, err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	_, err = db.ExecContext(t.Context(), "BEGIN EXCLUSIVE")
	require.NoError(t, err)
	unavailable(t, w, []string{"run", "job", "--store", "sqlite:locks.db", "--", "touch", "never"})
}

//go:build unix

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/testenv"
)

// scripts maps each script in testdata to the stores on which "make test" runs it. TestCompatScripts runs each script on
// every store on which the script can run.
//
// Most scripts test the command and not the store, so they run on one store: SQLite, or one of the servers for a few of
// them. The others show behaviour of the command that depends on the store.
var scripts = map[string]struct {
	stores string
	how    how
}{
	"closed":             {"sqlite", inProcess},
	"conflict":           {"postgres", asProcesses},
	"crash":              {"sqlite", asProcesses},
	"deaf_stderr":        {"redis", asProcesses},
	"demo":               {"sqlite", asProcesses},
	"dry_run":            {"default postgres-advisory etcd", inProcess},
	"exec_failure":       {"sqlite", inProcess},
	"fence":              {"sqlite postgres", inProcess}, // only on servers a user has to create the tables
	"first_use":          {"default", asProcesses},
	"forgetful":          {"etcd zookeeper", inProcess},
	"held_sentence":      {"sqlite", inProcess},
	"hide_store":         {"sqlite", inProcess},
	"history":            {"postgres", asProcesses},
	"ignored_signal":     {"sqlite", asProcesses},
	"inherit":            {"mysql redis", asProcesses}, // the marks are in the store, or in another database
	"json":               {"sqlite postgres-advisory", inProcess},
	"keyvalue_usage":     {"redis redlock etcd zookeeper", inProcess},
	"killed":             {"sqlite", asProcesses},
	"left_over":          {"sqlite", asProcesses},
	"lost":               {"redis", asProcesses},
	"lost_stubborn":      {"sqlite", asProcesses},
	"max_hold":           {"sqlite", asProcesses},
	"migrate":            {"sqlite postgres", inProcess},
	"min_hold":           {"sqlite", asProcesses},
	"nested":             {"sqlite", inProcess},
	"once":               {"redis", asProcesses},
	"operator_usage":     {"sqlite", inProcess},
	"orphans":            {"sqlite", asProcesses},
	"pause":              {"postgres", asProcesses},
	"prune":              {"redis postgres", inProcess}, // only tables have a history
	"release":            {"mysql", asProcesses},
	"run":                {"sqlite", asProcesses},
	"self":               {"sqlite", inProcess},
	"session_crash":      {"postgres-advisory mysql-getlock mariadb-getlock", asProcesses},
	"session_migrate":    {"postgres-advisory mysql-getlock mariadb-getlock", inProcess},
	"session_release":    {"postgres-advisory mysql-getlock mariadb-getlock", asProcesses},
	"session_status":     {"postgres-advisory mysql-getlock mariadb-getlock", inProcess},
	"session_usage":      {"postgres-advisory mysql-getlock mariadb-getlock", inProcess},
	"shared":             {"sqlite", inProcess},
	"slots":              {"sqlite", inProcess},
	"status":             {"sqlite postgres mysql mariadb redis redlock", inProcess},
	"term_forwarded":     {"sqlite", asProcesses},
	"term_while_waiting": {"postgres", asProcesses},
	"timeout":            {"sqlite", asProcesses},
	"usage":              {"sqlite", inProcess},
	"variables":          {"sqlite", inProcess},
	"wait":               {"sqlite", inProcess},
	"watch":              {"sqlite", asProcesses},
}

// how says how "make test" runs a script.
type how string

const (
	inProcess   how = "in the process of the test" // see TestScriptsInProcess
	asProcesses how = "as processes of their own"  // the script sends signals, or tests what becomes of processes
)

// leftOut maps each script that does not run on some stores to these stores and the reason.
var leftOut = map[string][]exception{
	"closed":        {{ofSessions, "a session lock is free when it is released: session_usage has the error"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful"}},
	"demo":          {{ofSessions, "the demonstration needs a lease that expires: session_usage has the error"}, {ofKeyValues, "it needs a table: keyvalue_usage has the error"}},
	"dry_run":       {{regexp.MustCompile("^(sqlite|postgres|mysql|mariadb|redis|redis-cluster|redlock)$"), "the holder is shown as by status"}},
	"fence":         {{ofSessions, "the demonstration, which seals, needs lease rows: session_usage has fence on these stores"}, {ofKeyValues, "marks are in tables: keyvalue_usage has the error"}},
	"history":       {{ofKeyValues, "it is kept in a table: keyvalue_usage has the error"}},
	"held_sentence": {{ofSessions, "no lease ends: session_status has the sentence"}, {ofForgetful, "only the leader knows when the lease began and ends: forgetful has the sentence"}},
	"migrate":       {{ofSessions, "without the newest migration there are no tokens: session_migrate"}, {ofKeyValues, "there are no tables: keyvalue_usage has the error"}},
	"min_hold":      {{ofSessions, "a session lock is free when it is released: session_usage has the error"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful has the error"}},
	"once":          {{ofSessions, "the store keeps nothing about a released lock: session_usage has the error"}, {ofRedlock, "its servers may forget: keyvalue_usage has the error"}},
	"pause":         {{ofSessions, "a session lock cannot be paused: session_usage has the error"}, {ofRedlock, "its servers may forget: keyvalue_usage has the error"}},
	"shared":        {{ofGetLocks, "GET_LOCK has no shared locks: session_usage has the error"}, {ofRedlock, "it grants no shared locks: keyvalue_usage has the error"}},
	"release":       {{ofSessions, "no lease expires, and a released lock is free at once: session_release"}},
	"status":        {{ofSessions, "no lease ends, and Postgres keeps no names: session_status"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful"}},

	"prune": {{ofSessions, "the store keeps nothing about locks in memory: session_status"}, {ofForgetful, "the store keeps nothing about a free lock: forgetful"}, {ofTwins, "the backend does it: status"}},
	"wait":  {{ofSessions, "it shows the state repeatedly: session_status"}, {ofForgetful, "it shows the state repeatedly: forgetful"}, {ofTwins, "it shows the state repeatedly: status"}},
	"watch": {{ofSessions, "Postgres keeps no names: session_status has the list"}, {ofForgetful, "it shows the list repeatedly: forgetful"}, {ofTwins, "it shows the list repeatedly: status"}},

	"operator_usage": {{ofSessions, "said before the store is opened: session_usage has more"}, {ofForgetful, "said before the store is opened: usage"}, {ofTwins, "said before the store is opened: usage"}},

	"session_crash":   {{ofLeases, "a lease is free after its TTL: crash"}},
	"session_migrate": {{ofKeyValues, "only for session locks, and there are no tables: keyvalue_usage"}, {ofLeases, "only for session locks: migrate"}},
	"session_release": {{ofLeases, "only for session locks: release"}},
	"session_status":  {{ofForgetful, "only for session locks: forgetful"}, {ofLeases, "only for session locks: status"}},
	"session_usage":   {{ofLeases, "only for session locks: usage"}},

	"forgetful":      {{ofSessions, "only for stores that keep nothing about a free lock: session_status"}, {ofOthers(ofForgetful), "only for stores that keep nothing about a free lock: status"}},
	"keyvalue_usage": {{ofSessions, "only for stores without tables: session_usage"}, {ofOthers(ofKeyValues), "only for stores without tables: usage"}},
}

// exception names the stores on which a script does not run, by a pattern, and the reason.
type exception struct {
	of  interface{ MatchString(string) bool }
	why string
}

var (
	ofSessions  = regexp.MustCompile("-(advisory|getlock)$")
	ofGetLocks  = regexp.MustCompile("-getlock$")
	ofLeases    = ofOthers(ofSessions)
	ofKeyValues = regexp.MustCompile("^(redis|redis-cluster|redlock|etcd|zookeeper)$")
	ofRedlock   = regexp.MustCompile("^redlock$")
	ofTwins     = regexp.MustCompile("^(default|mariadb|redis-cluster|redlock)$")
	ofForgetful = regexp.MustCompile("^(etcd|zookeeper)$")
)

// others matches the texts that another pattern, in the field than, does not match.
type others struct{ than *regexp.Regexp }

func ofOthers(than *regexp.Regexp) others { return others{than} }

func (o others) MatchString(s string) bool { return !o.than.MatchString(s) }

// TestScripts runs scripts with a shell, in which each command is a process. The first lines of a script say what the
// script tests.
func TestScripts(t *testing.T) {
	t.Parallel()
	openers := stores(t)
	for store, names := range each(asProcesses) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					w := newWorkplace(t)
					w.env = append(w.env, "ROWLOCK_STORE="+openers[store](t, w))
					if slices.Contains([]string{"default", "sqlite", "redis"}, store) {
						w.env = append(w.env, "TTL="+shortTTL)
					}
					w.script(t, path(name))
				})
			}
		})
	}
}

// TestScriptsInProcess runs scripts in which each rowlock command runs in the process of the test. The subject of these
// scripts is what the command says and does, and not its process. The scripts run one after the other, because the
// working folder belongs to the process.
func TestScriptsInProcess(t *testing.T) {
	openers := stores(t)
	for store, names := range each(inProcess) {
		t.Run(store, func(t *testing.T) {
			for _, name := range names {
				t.Run(name, func(t *testing.T) {
					w := newWorkplace(t)
					w.env = append(w.env, "ROWLOCK_STORE="+openers[store](t, w))
					w.interpret(t, path(name))
				})
			}
		})
	}
}

// TestCompatScripts runs each script on each store with a shell.
func TestCompatScripts(t *testing.T) {
	t.Parallel()
	for store, open := range stores(t) {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			for name := range scripts {
				t.Run(name, func(t *testing.T) {
					t.Parallel()
					if why := isLeftOut(name, store); why != "" {
						t.Skip(why)
					}
					testenv.Compat(t)
					w := newWorkplace(t)
					w.env = append(w.env, "ROWLOCK_STORE="+open(t, w))
					w.script(t, path(name))
				})
			}
		})
	}
}

// The tables of scripts and exceptions name each script and each kind of store. If a script does not run on a store, the
// reason names a script that does. Redis Cluster is the only store on which only TestCompatScripts runs scripts.
func TestEveryScriptRunsSomewhere(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.sh")
	require.NoError(t, err)
	for _, file := range files {
		require.Contains(t, scripts, strings.TrimSuffix(filepath.Base(file), ".sh"), "the table of scripts says on which stores make test runs it")
	}
	all, used := stores(t), map[string]bool{"redis-cluster": true}
	for name, s := range scripts {
		require.Contains(t, files, path(name))
		require.NotEmpty(t, s.stores, name)
		for store := range strings.FieldsSeq(s.stores) {
			require.Contains(t, all, store, name)
			require.Empty(t, isLeftOut(name, store), "%s on %s", name, store)
			used[store] = true
		}
	}
	require.Len(t, used, len(all))
	for name := range leftOut {
		require.Contains(t, files, path(name), "it is not left out of any store")
		for store := range all {
			if why := isLeftOut(name, store); why != "" {
				require.True(t, instead(why, store), "%s does not run on %s, and the reason names no script that does: %s", name, store, why)
			}
		}
	}
}

func path(script string) string { return filepath.Join("testdata", script+".sh") }

// each returns the names of the scripts that "make test" runs in this way on each store.
func each(in how) map[string][]string {
	names := map[string][]string{}
	for name, s := range scripts {
		for store := range strings.FieldsSeq(s.stores) {
			if s.how == in {
				names[store] = append(names[store], name)
			}
		}
	}
	for _, of := range names {
		slices.Sort(of)
	}
	return names
}

// stores maps each kind of store to a function that returns the address of a new store of this kind.
func stores(tb testing.TB) map[string]func(testing.TB, workplace) string {
	tb.Helper()
	return map[string]func(testing.TB, workplace) string{
		"default":  func(testing.TB, workplace) string { return "local" },
		"sqlite":   func(testing.TB, workplace) string { return "sqlite:locks.db" },
		"postgres": func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.Postgres(tb)) },
		"mysql":    func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.MySQL(tb)) },
		"mariadb":  func(tb testing.TB, w workplace) string { return migrated(tb, w, testenv.MariaDB(tb)) },
		"postgres-advisory": func(tb testing.TB, w workplace) string {
			return migrated(tb, w, strings.Replace(testenv.Postgres(tb), "postgres://", "postgres-advisory://", 1))
		},
		"mysql-getlock":   func(tb testing.TB, w workplace) string { return migrated(tb, w, "mysql-getlock:"+testenv.MySQL(tb)) },
		"mariadb-getlock": func(tb testing.TB, w workplace) string { return migrated(tb, w, "mysql-getlock:"+testenv.MariaDB(tb)) },
		"redis":           redisStore,
		"redis-cluster":   redisCluster(tb),
		"redlock":         redlockStore(tb),
		"etcd":            etcdStore,
		"zookeeper":       zookeeperStore,
	}
}

// isLeftOut returns the reason why the script does not run on the store. The result is empty if the script runs.
func isLeftOut(script, store string) (why string) {
	for _, e := range leftOut[script] {
		if e.of.MatchString(store) {
			return e.why
		}
	}
	return ""
}

// instead reports whether another script covers the store. The text reason, which says why the first script is left
// out, names the other script.
func instead(reason, store string) bool {
	for _, word := range strings.FieldsFunc(reason, func(r rune) bool { return r == ' ' || r == ',' || r == ':' }) {
		if _, err := os.Stat(filepath.Join("testdata", word+".sh")); err == nil {
			if isLeftOut(word, store) == "" {
				return true
			}
		}
	}
	return false
}

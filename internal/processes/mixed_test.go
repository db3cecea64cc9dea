//go:build unix

package processes_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/migrations"
)

// longestMixed is the longest duration of a run of mixed workers. The run ends as soon as it has shown enough.
const longestMixed = 2 * time.Minute

// mixedFleet starts a fleet of workers of all kinds that can work on a store.
func mixedFleet(t *testing.T, name, program string, d database, dsn string) *fleet {
	t.Helper()
	environ := programsOf(t, name, dsn)
	require.NoError(t, migrations.Up(t.Context(), d.prepare(t, dsn), d.dialect, migrations.Functions()))
	return newFleet(t, job{Program: program, Store: name, DSN: dsn, Mixed: true, Environ: environ})
}

// counted returns how many events of one kind the workers of each kind have reported.
func (f *fleet) counted(what string) map[string]int {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := map[string]int{}
	for _, p := range f.all {
		n[p.kind().name] += len(slices.DeleteFunc(slices.Clone(p.log), func(e event) bool { return e.What != what }))
	}
	return n
}

// Promises 1 and 4 of docs/guarantees.md: programs in different languages exclude and fence each other. The workers are Go processes, Go children of
// "rowlock run", shell scripts under "rowlock run", psql with the SQL functions, and Python processes. They extend the
// same chains, under the faults of TestFencedChainIsUnbroken. These hit the worker and all processes that it has
// started. One more fault kills only "rowlock run". Then the next write of its child is rejected.
func TestFencedChainOfMixedWorkersIsUnbroken(t *testing.T) {
	stores := onServers
	if !further(t) {
		stores = []string{"postgres", "mysql"} // MariaDB has the same console, client and procedures as MySQL
	}
	eachStore(t, stores, func(t *testing.T, name string, d database) {
		dsn := d.dsn(t)
		db := prepareChains(t, d, dsn)
		locks, closeLocks := d.backend(db, dsn)
		defer closeLocks()
		f := mixedFleet(t, name, chaining, d, dsn)
		long, _ := duration(t)
		begin := time.Now()
		disturb(f, locks, func() bool {
			took := time.Since(begin)
			if took >= longestMixed {
				return true
			}
			return took >= long && f.heard(stale) > 0 && f.sufferedEach(mixedDeck) && !slices.Contains(slices.Collect(maps.Values(f.counted(wrote))), 0)
		})
		f.stop()
		total := d.requireUnbroken(t, db, acknowledged(f.all))
		t.Logf("%d links in %s; written by kind: %v; rejected by the database: %v", total, time.Since(begin).Round(time.Second), f.counted(wrote), f.counted(stale))
		t.Log(f.faults)
		for kind, n := range f.counted(wrote) {
			assert.Positive(t, n, "the workers of the kind %q have written nothing", kind)
		}
		assert.Positive(t, f.events[stale], "no stale write reached the database: the run proves too little")
		assert.Positive(t, f.faults[orphan], "no child went on without its parent: the run proves too little")
	})
}

// Control: without the checks, the mixed workers lose updates.
func TestUnfencedChainOfMixedWorkersBreaks(t *testing.T) {
	eachStore(t, controlled(t, onServers...), func(t *testing.T, name string, d database) {
		dsn := d.dsn(t)
		db := prepareChains(t, d, dsn)
		locks, closeLocks := d.backend(db, dsn)
		defer closeLocks()
		f := mixedFleet(t, name, unfenced, d, dsn)
		begin := time.Now()
		disturb(f, locks, func() bool {
			lostUpdates, _ := d.lostUpdates(t, db)
			return lostUpdates > 0 || time.Since(begin) >= longestMixed
		})
		f.stop()
		lostUpdates, total := d.lostUpdates(t, db)
		t.Logf("%d lost updates in %d links after %s", lostUpdates, total, time.Since(begin).Round(time.Second))
		t.Log(f.faults)
		assert.Positive(t, lostUpdates, "the control lost nothing: the faults are too weak for the fenced run to prove something")
	})
}

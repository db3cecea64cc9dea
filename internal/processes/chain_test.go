//go:build unix

package processes_test

import (
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	durationVariable = "ROWLOCK_TEST_CHAIN" // such as 60s
	shortRun         = 2 * time.Second
	compatRun        = 8 * time.Second // of a TestCompat
	// At least one stale write must be rejected by the database, and one by the lease. Until both have happened, the
	// run continues for at most this time.
	longestCoverage = 3 * time.Minute
	fullControl     = 15 * time.Second
	// The control run has no fence. It continues until an update is lost, for at most this time.
	longestControl = 3 * time.Minute
)

// duration returns the length of the run with the fence. The result asked tells whether the environment variable
// ROWLOCK_TEST_CHAIN sets the length.
func duration(t *testing.T) (d time.Duration, asked bool) {
	t.Helper()
	text := os.Getenv(durationVariable)
	if text == "" && further(t) {
		return compatRun, false
	}
	if text == "" {
		return shortRun, false
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, durationVariable)
	return d, true
}

// Promise: with the fence, no stale holder changes the data. The data are a chain: a list of writes, called links, each
// of which records which link its writer had read before. The writer of each link must have read the previous link.
// Tokens must never decrease, and each token must belong to one holder. Six processes compete for two locks. Faults
// hit these processes between a read and a write: a process is suspended for longer than its TTL, loses its lock by
// ForceRelease, or is killed. Others are suspended inside a transaction. Processes then try stale writes, which the
// lease or the database rejects.
func TestFencedChainIsUnbroken(t *testing.T) {
	eachStore(t, slices.Collect(maps.Keys(databases)), func(t *testing.T, name string, d database) {
		long, _ := duration(t)
		dsn := d.dsn(t)
		db := prepareChains(t, d, dsn)
		locks, closeLocks := d.backend(db, dsn)
		defer closeLocks()
		f := newFleet(t, job{Program: chaining, Store: name, DSN: dsn})
		begin := time.Now()
		disturb(f, locks, func() bool {
			took := time.Since(begin)
			return took >= long && f.heard(stale) > 0 && f.heard(lost) > 0 && f.sufferedEach(deck) || took >= long+longestCoverage
		})
		f.stop()
		total := d.requireUnbroken(t, db, acknowledged(f.all))
		t.Logf("%d holds, %d links written in %d transactions; rejected: %d by the database, %d by the lease", f.events[granted], total, f.events[wrote], f.events[stale], f.events[lost])
		t.Log(f.faults)
		assert.Positive(t, f.events[stale], "no stale write reached the database: the run proves too little")
		assert.Positive(t, f.events[lost], "no worker wrote after its lease ended: the run proves too little")
	})
}

// Control: the same run without the fence loses updates. This shows that the faults are strong enough,
// so the run with the fence means something. The faults are the same on every database, so one database is enough.
func TestUnfencedChainBreaks(t *testing.T) {
	eachStore(t, controlled(t, "postgres", "mysql", "mariadb", "sqlite"), func(t *testing.T, name string, d database) {
		_, full := duration(t)
		dsn := d.dsn(t)
		db := prepareChains(t, d, dsn)
		locks, closeLocks := d.backend(db, dsn)
		defer closeLocks()
		f := newFleet(t, job{Program: unfenced, Store: name, DSN: dsn})
		begin := time.Now()
		disturb(f, locks, func() bool {
			if took := time.Since(begin); full || took >= longestControl {
				return took >= fullControl
			}
			lostUpdates, _ := d.lostUpdates(t, db)
			return lostUpdates > 0
		})
		f.stop()
		lostUpdates, total := d.lostUpdates(t, db)
		t.Logf("%d lost updates in %d links after %s", lostUpdates, total, time.Since(begin).Round(time.Millisecond))
		t.Log(f.faults)
		assert.Positive(t, lostUpdates, "the control lost nothing: the faults are too weak for the fenced run to prove something")
	})
}

//go:build unix

package chain_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

const (
	durationVariable = "ROWLOCK_TEST_CHAIN" // such as 60s
	shortRun         = 8 * time.Second
	longestCoverage  = time.Minute // how much longer, until every kind of refusal was seen
	fullControl      = 15 * time.Second
	longestControl   = time.Minute // until something was lost
)

// duration is how long the fenced run takes, and whether somebody asked for that.
func duration(t *testing.T) (d time.Duration, asked bool) {
	t.Helper()
	text := os.Getenv(durationVariable)
	if text == "" {
		return shortRun, false
	}
	d, err := time.ParseDuration(text)
	require.NoError(t, err, durationVariable)
	return d, true
}

// Eight processes on two names, stopped for longer than their lease between read and write, evicted
// there, stopped inside their transactions and killed: every link of a chain was written by who knew
// the link before it, tokens never go down, and each has one holder. Stale writes are attempted and
// refused, by the lease and by the database.
func TestFencedChainIsUnbroken(t *testing.T) {
	long, _ := duration(t)
	for name, d := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly it waits
			dsn, db := d.prepare(t)
			locks, closeLocks := d.backend(db, dsn)
			defer closeLocks()
			f := newFleet(t, job{Store: name, DSN: dsn, Fenced: true})
			begin := time.Now()
			n := f.disturb(locks, func() bool {
				took := time.Since(begin)
				return took >= long && f.covered() || took >= long+longestCoverage
			})
			f.stop()
			total := d.requireUnbroken(t, db, f.acked)
			t.Logf("%d holds, %d links written in %d transactions; refused: %d by the database, %d by the lease", f.events[granted], total, f.events[wrote], f.events[stale], f.events[lost])
			t.Log(n)
			f.logErrors()
			assert.Zero(t, f.events[failed], f.detail[failed])
			assert.Positive(t, f.events[stale], "no stale write reached the database: the run says too little")
			assert.Positive(t, f.events[lost], "nobody wrote after its lease: the run says too little")
		})
	}
}

// The control: the same without the fence loses updates, so the faults are strong enough for the
// fenced run to say something.
func TestUnfencedChainBreaks(t *testing.T) {
	_, full := duration(t)
	for name, d := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly it waits
			dsn, db := d.prepare(t)
			locks, closeLocks := d.backend(db, dsn)
			defer closeLocks()
			f := newFleet(t, job{Store: name, DSN: dsn})
			begin := time.Now()
			n := f.disturb(locks, func() bool {
				if took := time.Since(begin); full || took >= longestControl {
					return took >= fullControl
				}
				lostUpdates, _ := d.lostUpdates(t, db)
				return lostUpdates > 0
			})
			f.stop()
			lostUpdates, total := d.lostUpdates(t, db)
			t.Logf("%d lost updates in %d links after %s", lostUpdates, total, time.Since(begin).Round(time.Millisecond))
			t.Log(n)
			f.logErrors()
			assert.Zero(t, f.events[failed], f.detail[failed])
			assert.Positive(t, lostUpdates, "the control lost nothing: the faults are too weak for the fenced run to say something")
		})
	}
}

// covered says whether stale writers were refused by the database and by the lease.
func (f *fleet) covered() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[stale] > 0 && f.events[lost] > 0
}

// logErrors logs how often each kind of error was told, and the first of them.
func (f *fleet) logErrors() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for what, detail := range f.detail {
		f.t.Logf("%d %s, such as: %s", f.events[what], what, detail)
	}
}

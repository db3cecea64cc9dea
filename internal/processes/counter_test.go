//go:build unix

package processes_test

import (
	"database/sql"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Promise: tokens increase, each token belongs to one process, no two processes trust their leases at the same time,
// and no count is lost. The lock of a killed holder is granted again within its TTL plus one second.
// On each database, six processes compete for locks, while some are killed (kill -9) or suspended for longer
// than their TTL.
func TestCounterUnderFaults(t *testing.T) {
	eachStore(t, slices.Collect(maps.Keys(databases)), func(t *testing.T, name string, d database) {
		t.Parallel() // mostly it waits
		dsn := d.dsn(t) + d.immediate
		db := prepareCounters(t, d, dsn)
		c := &counters{fleet: newFleet(t, job{Program: counting, Store: name, DSN: dsn})}
		c.disturb(faultsPerRun(t))
		held := 1
		if further(t) {
			held = 3
		}
		slowest := c.killHolders(db, held)
		c.awaitGrants(enough)
		c.stop()
		check(t, d, db, c.all)
		t.Logf("%d killed, %d of them holders; the locks of those were granted again within %s", c.killed, held, slowest.Round(time.Millisecond))
	})
}

func faultsPerRun(t *testing.T) int {
	t.Helper()
	if further(t) {
		return 18
	}
	return 5
}

// prepareCounters creates the counters with the value 0, and an empty ledger.
func prepareCounters(t *testing.T, d database, dsn string) *sql.DB {
	statements := []string{
		"CREATE TABLE counter (id integer PRIMARY KEY, token bigint NOT NULL, n bigint NOT NULL)",
		"CREATE TABLE ledger (id integer NOT NULL, n bigint NOT NULL, token bigint NOT NULL, worker integer NOT NULL, PRIMARY KEY (id, n))",
	}
	for id := range names {
		statements = append(statements, fmt.Sprintf("INSERT INTO counter VALUES (%d, 0, 0)", id))
	}
	return d.prepare(t, dsn, statements...)
}

// counters is a fleet of workers that count, and the faults that hit them.
type counters struct {
	*fleet
	killed int
}

// disturb kills and suspends workers, one at a time.
func (c *counters) disturb(faults int) {
	for range faults {
		time.Sleep(rand.N(300 * time.Millisecond)) // let them work
		i := c.victim()
		if rand.IntN(2) == 0 {
			c.kill(i)
			continue
		}
		p, _ := c.at(i)
		require.NoError(c.t, p.suspend())
		time.Sleep(ttl + rand.N(ttl/2)) // the suspension is longer than the TTL
		require.NoError(c.t, p.resume())
	}
}

// victim returns the index of a worker, usually of one that holds a lock.
func (c *counters) victim() int {
	for _, i := range rand.Perm(len(c.running)) {
		if _, last := c.at(i); last.Token != 0 && last.What != released && rand.IntN(8) > 0 {
			return i
		}
	}
	return rand.IntN(len(c.running))
}

// kill kills worker i, starts another worker at that index, and returns the dead worker.
func (c *counters) kill(i int) *process {
	p, _ := c.at(i)
	require.NoError(c.t, p.kill())
	c.killed++
	require.NoError(c.t, c.start(i))
	return p
}

// killHolders kills n workers that hold a lock. It returns the longest time until such a lock was granted again.
// It causes no other faults. On a slow machine, the workers or the database may pause, and then a grant may come later by
// the length of that pause.
func (c *counters) killHolders(db *sql.DB, n int) (slowest time.Duration) {
	for n > 0 {
		longestPause := pauses(c.t, db)
		i := c.awaitHolder()
		at := now()
		p := c.kill(i)
		dead, held := p.held()
		if !held {
			longestPause()
			continue // the worker released the lock before it died
		}
		n--
		at = max(at, p.newest().At) // it was alive then
		by, next := c.awaitGrantAfter(p, dead)
		paused := longestPause()
		took := time.Duration(next.At - at)
		slowest = max(slowest, took)
		assert.LessOrEqual(c.t, took, ttl+time.Second+paused, "name %d, token %d: then token %d, worker %d; the machine paused for %s", p.name(), dead.Token, next.Token, by.Worker, paused)
	}
	return slowest
}

// pauses asks the database again and again. The function that it returns ends that, and returns the longest time that
// passed between two answers, less the delay between two questions.
func pauses(t *testing.T, db *sql.DB) (longest func() time.Duration) {
	const delay = 10 * time.Millisecond
	stop, result := make(chan struct{}), make(chan time.Duration, 1)
	go func() {
		var most time.Duration
		defer func() { result <- most }()
		for last := time.Now(); ; {
			select {
			case <-stop:
				return
			case <-t.Context().Done():
				return
			case <-time.After(delay):
			}
			var one int
			if err := db.QueryRowContext(t.Context(), "SELECT 1").Scan(&one); t.Context().Err() == nil {
				assert.NoError(t, err)
			}
			most = max(most, time.Since(last)-delay)
			last = time.Now()
		}
	}()
	return func() time.Duration {
		close(stop)
		return <-result
	}
}

// awaitHolder waits until a worker holds a lock.
func (c *counters) awaitHolder() (i int) {
	c.t.Helper()
	require.True(c.t, c.await(time.Minute, func() (held bool) {
		for _, i = range rand.Perm(len(c.running)) {
			if _, held = c.running[i].held(); held {
				break
			}
		}
		return held
	}), "no worker holds a lock")
	return i
}

// awaitGrantAfter waits until the lock of p has been granted again after the event in the parameter last. It returns
// the new holder and its event.
func (c *counters) awaitGrantAfter(p *process, last event) (by *process, next event) {
	c.t.Helper()
	require.True(c.t, c.await(time.Minute, func() bool {
		for _, other := range c.all {
			for _, e := range other.log {
				if e.What == granted && other.name() == p.name() && e.Token > last.Token && (by == nil || e.Token < next.Token) {
					by, next = other, e
				}
			}
		}
		return by != nil
	}), "name %d is not granted again after token %d", p.name(), last.Token)
	return by, next
}

// awaitGrants waits until more than n leases have been granted.
func (c *counters) awaitGrants(n int) {
	c.t.Helper()
	require.True(c.t, c.await(time.Minute, func() bool { return c.events[granted] > n }), "no more than %d leases are granted", n)
}

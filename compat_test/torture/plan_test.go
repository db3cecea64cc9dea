//go:build linux

package main

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/leaks"
)

// A test that starts workers re-executes the test binary. The workers must not run the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == workerArgument {
		fmt.Fprintln(os.Stderr, runWorker(os.Args[2]))
		return
	}
	leaks.Main(m)
}

// The plan depends only on the seed, and begins with the faults that a short run must have.
func TestThePlanComesFromTheSeed(t *testing.T) {
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			o := settings{seed: 42, workers: 4, ttl: time.Second}
			one := newPlan(s, o, 10*time.Minute)
			assert.Equal(t, one, newPlan(s, o, 10*time.Minute))
			o.seed++
			assert.NotEqual(t, one, newPlan(s, o, 10*time.Minute))
			require.Greater(t, len(one.faults), 100)
			assert.Equal(t, []string{kill, stop}, []string{one.faults[0].Kind, one.faults[1].Kind})
			for _, kind := range s.deck() {
				assert.True(t, slices.ContainsFunc(one.faults, func(f step) bool { return f.Kind == kind }), kind)
			}
			for i, f := range one.faults {
				assert.True(t, i == 0 || f.At >= one.faults[i-1].At)
				assert.Less(t, f.Slot, 4)
				assert.True(t, len(s.servers) == 0 || f.Node < len(s.servers))
			}
		})
	}
}

// The plan of a short run is the beginning of the plan of a long run. Repeating a run with a longer time only adds faults to the
// plan.
func TestALongerPlanBeginsLikeAShortOne(t *testing.T) {
	o := settings{seed: 1, workers: 3, ttl: time.Second}
	short, long := newPlan(stores[0], o, 20*time.Second), newPlan(stores[0], o, time.Minute)
	assert.Equal(t, short.faults, long.faults[:len(short.faults)])
}

// In the dense mode, half of the faults hit the holder of any dense name. At the end, the run waits until every name of the fleet
// is granted again.
func TestTheDenseModeHasNamesAndFaultsOfItsOwn(t *testing.T) {
	o := settings{seed: 42, workers: 4, ttl: time.Second}
	assert.Len(t, o.lockNames(), 14)
	o.ticks, o.shares = true, true
	assert.Len(t, o.lockNames(), 16)
	o.dense = true
	assert.Len(t, o.lockNames(), 16+denseNames)
	p := newPlan(stores[0], o, 10*time.Minute)
	for _, steps := range [][]step{p.faults, p.evictions} {
		n := 0
		for _, s := range steps {
			if s.Name == denseName {
				n++
			}
		}
		assert.InDelta(t, len(steps)/2, n, float64(len(steps))/5)
	}
	assert.True(t, isOf("dense-007", denseName))
	assert.True(t, isOf("relay", relayName))
	assert.False(t, isOf("relay", denseName))
	assert.False(t, isOf("dense-007", "dense-008"))
}

// If the name of a store is wrong, the error lists the valid names.
func TestStoresHaveNames(t *testing.T) {
	_, err := findStore("oracle")
	require.ErrorIs(t, err, errNoStore)
	assert.Len(t, names("all"), len(stores))
	seen := map[string]bool{}
	for _, name := range names("all") {
		assert.False(t, seen[name], name)
		seen[name] = true
	}
}

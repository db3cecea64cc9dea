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

// A test that starts workers re-executes its own binary: they must not run the tests.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == workerArgument {
		fmt.Fprintln(os.Stderr, runWorker(os.Args[2]))
		return
	}
	leaks.Main(m)
}

// The plan depends on the seed and on nothing else, and begins with what a short run must have.
func TestThePlanComesFromTheSeed(t *testing.T) {
	for _, s := range stores {
		t.Run(s.name, func(t *testing.T) {
			one := newPlan(s, 42, 4, time.Second, 10*time.Minute)
			assert.Equal(t, one, newPlan(s, 42, 4, time.Second, 10*time.Minute))
			assert.NotEqual(t, one, newPlan(s, 43, 4, time.Second, 10*time.Minute))
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

// A short run torn down early is the beginning of a long one: repeating it with a longer time adds to the plan.
func TestALongerPlanBeginsLikeAShortOne(t *testing.T) {
	short, long := newPlan(stores[0], 1, 3, time.Second, 20*time.Second), newPlan(stores[0], 1, 3, time.Second, time.Minute)
	assert.Equal(t, short.faults, long.faults[:len(short.faults)])
}

// A mistaken name of a store is an error that names those that there are.
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

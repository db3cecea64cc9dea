//go:build unix

package processes_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/rowlock/rowlock/internal/testenv"
)

// The runs of the other tests, longer and with more faults. The control runs without the fence on every database.
func TestCompatLongerRuns(t *testing.T) {
	for name, test := range map[string]func(*testing.T){
		"counter": TestCounterUnderFaults, "fenced": TestFencedChainIsUnbroken, "unfenced": TestUnfencedChainBreaks,
		"mixed": TestFencedChainOfMixedWorkersIsUnbroken, "unfenced mixed": TestUnfencedChainOfMixedWorkersBreaks,
	} {
		t.Run(name, func(t *testing.T) {
			testenv.Compat(t)
			test(t)
		})
	}
}

// further reports whether t is a part of TestCompatLongerRuns.
func further(t *testing.T) bool { return strings.HasPrefix(t.Name(), "TestCompat") }

// controlled returns the databases of a control, which runs without the fence: the first one, or all in a TestCompat.
func controlled(t *testing.T, names ...string) []string {
	t.Helper()
	if further(t) {
		return names
	}
	return names[:1]
}

// eachStore runs the function test on the databases with these names, one after the other: the fleets would slow each
// other down.
func eachStore(t *testing.T, names []string, test func(t *testing.T, name string, d database)) {
	t.Helper()
	for _, name := range slices.Sorted(slices.Values(names)) {
		t.Run(name, func(t *testing.T) { test(t, name, databases[name]) })
	}
}

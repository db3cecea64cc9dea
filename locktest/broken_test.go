package locktest

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// mutant is a store with one defect, and the cases that must detect it.
type mutant struct {
	defect   string
	build    func(*memlock.Backend) inprocess.Memory
	caughtBy []string
}

func (m mutant) harness() Harness { return inprocess.New(m.build(memlock.New())) }

// impatient has short limits, because many mutants make a case wait for an event that never happens.
var impatient = settings{limit: 20 * time.Second, grace: 5 * time.Second, patience: 1500 * time.Millisecond}

// Each mutant fails every case in its field caughtBy, and each failure prints the broken promise.
func TestEveryMutantIsCaught(t *testing.T) {
	for _, m := range mutants() {
		t.Run(m.defect, func(t *testing.T) {
			t.Parallel()
			require.NotEmpty(t, m.caughtBy)
			isCaught(t, m.harness(), m.caughtBy)
		})
	}
}

// isCaught runs the named cases on the broken backend of h, and checks that each case fails before its time limit.
func isCaught(t *testing.T, h Harness, names []string) {
	t.Helper()
	chosen := slices.DeleteFunc(cases(), func(c testCase) bool { return !slices.Contains(names, c.name) })
	require.Len(t, chosen, len(names), "a case is misspelt in %q", names)
	err := impatient.check(t.Context(), h, chosen, func(Result) {})
	require.Error(t, err)
	failed := make(map[string]*Failure)
	failures := []error{err}
	if several, ok := err.(interface{ Unwrap() []error }); ok {
		failures = several.Unwrap()
	}
	for _, e := range failures {
		var failure *Failure
		require.ErrorAs(t, e, &failure)
		failed[failure.Case] = failure
	}
	for _, c := range chosen {
		require.Contains(t, failed, c.name, "the case finds nothing")
		assert.Contains(t, failed[c.name].Error(), c.promise)
		assert.NotContains(t, failed[c.name].Detail, "did not end within")
		t.Log(failed[c.name])
	}
}

// A client that keeps waiting after its context has ended fails each case that cuts off the client.
func TestDeafClientIsCaught(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { isCaught(t, deaf{inprocess.New(memlock.New())}, caughtDeaf) })
}

// Every case detects at least one mutant.
func TestEveryCaseCatchesAMutant(t *testing.T) {
	caught := slices.Clone(caughtDeaf)
	for _, m := range mutants() {
		caught = append(caught, m.caughtBy...)
	}
	for _, m := range powerMutants {
		caught = append(caught, m.caughtBy...)
	}
	for _, c := range cases() {
		if !slices.Contains(caught, c.name) {
			t.Errorf("%s catches no mutant", c.name)
		}
	}
}

// The names of cases and promises are unique, because subtests and exemptions use these names.
func TestCasesHaveNamesOfTheirOwn(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range cases() {
		assert.NotEmpty(t, c.name)
		assert.False(t, seen[c.name] || seen[c.promise], "%s is there twice", c.name)
		seen[c.name], seen[c.promise] = true, true
	}
}

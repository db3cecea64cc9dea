package model_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/internal/model"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// explain logs the result of a search, and the path to a violation if there is one.
func explain(t *testing.T, invariant string, r model.Result) {
	t.Helper()
	if len(r.Trace) == 0 {
		t.Logf("%s holds in all %d states, %d steps deep", invariant, r.States, r.Depth)
		return
	}
	t.Logf("%s breaks after %d steps, found in %d states:", invariant, len(r.Trace), r.States)
	for i, line := range r.Trace {
		t.Logf("%3d. %s", i+1, line)
	}
}

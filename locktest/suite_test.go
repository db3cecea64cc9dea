package locktest

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/memlock"
)

// bare is a harness that can only open clients.
type bare struct{ Harness }

// exempting is a harness that declares exceptions.
type exempting struct {
	Harness
	exempt map[string]string
}

func (e exempting) Exempt() map[string]string { return e.exempt }

func newMemlock() Harness { return inprocess.New(memlock.New()) }

// If a harness has no optional interface, Check runs every case that needs none, and waits for the expiry of leases. Check
// reports each skipped case with the interface that the case needs.
func TestCheckReportsSkippedCases(t *testing.T) {
	t.Parallel()
	err := Check(t.Context(), bare{newMemlock()})
	require.NotErrorAs(t, err, new(*Failure))
	reasons := err.Error()
	left := 0
	for _, c := range cases() {
		if len(c.needs) == 0 {
			assert.NotContains(t, reasons, c.name+": not run")
			continue
		}
		left++
		assert.Contains(t, reasons, c.name+": not run: the harness does not implement locktest."+c.needs[0].name)
	}
	assert.Equal(t, left, strings.Count(reasons, "not run"))
}

// A case that hangs and ignores its context is a failure, and the run continues.
func TestWatchdogEndsACaseThatHangs(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	defer close(release)
	hangs := testCase{name: "hangs", promise: "It ends.", run: func(*trial) { <-release }}
	err := settings{limit: 20 * time.Millisecond, grace: 20 * time.Millisecond}.try(t.Context(), newMemlock(), hangs)
	require.ErrorAs(t, err, new(*Failure))
	assert.Contains(t, err.Error(), "hangs: broken promise: It ends.")
}

// The context of a case ends at the time limit of the case. A case that then ends reports its own failure,
// and not a failure of the watchdog.
func TestLimitEndsTheContextOfACase(t *testing.T) {
	t.Parallel()
	waits := testCase{name: "waits", run: func(t *trial) {
		<-t.ctx.Done()
		t.fatalf("told")
	}}
	err := settings{limit: 20 * time.Millisecond, grace: time.Minute}.try(t.Context(), newMemlock(), waits)
	require.ErrorContains(t, err, "told")
	require.ErrorContains(t, err, "suite_test.go:")
}

// A panic of a backend is a failure of the case, and the clients of the case are closed.
func TestPanicIsAFailure(t *testing.T) {
	t.Parallel()
	cleaned := false
	panics := testCase{name: "panics", run: func(t *trial) {
		t.cleanup(func() { cleaned = true })
		panic("oh")
	}}
	err := usual.try(t.Context(), newMemlock(), panics)
	require.ErrorContains(t, err, "panic: oh")
	assert.True(t, cleaned)
}

// If a harness cannot open a client, every case fails with this error.
func TestClientThatCannotBeOpenedIsAFailure(t *testing.T) {
	t.Parallel()
	err := usual.try(t.Context(), closedDoor{}, cases()[0])
	require.ErrorContains(t, err, "open a client: no door")
}

type closedDoor struct{}

func (closedDoor) Open(context.Context) (driver.Backend, error) { return nil, errors.New("no door") }

// An exemption skips one case, and the result contains the reason that the harness gives. An exemption of an unknown
// case is an error.
func TestExemptionsAreChecked(t *testing.T) {
	t.Parallel()
	c := cases()[0]
	err := usual.try(t.Context(), exempting{newMemlock(), map[string]string{c.name: "documented"}}, c)
	var not *NotRun
	require.ErrorAs(t, err, &not)
	assert.Contains(t, not.Reason, "documented")

	err = Check(t.Context(), exempting{newMemlock(), map[string]string{"no-such-case": "documented"}})
	require.ErrorContains(t, err, `"no-such-case"`)
}

package locktest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"strings"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

var leftoverCases = []testCase{
	{
		name:    "no-goroutine-left",
		promise: "After the locker and its client are closed, no goroutine of the backend or the locker runs.",
		needs:   []power{closing},
		run:     noGoroutineLeft,
	},
}

// noGoroutineLeft labels a goroutine. All goroutines started by this goroutine inherit the label, so the case can distinguish
// them from all other goroutines of the process.
func noGoroutineLeft(t *trial) {
	b, err := t.harness.Open(t.ctx)
	if err != nil {
		t.fatalf("open a client: %v", err)
	}
	names := [...]string{t.key("a").Name, t.key("b").Name, t.key("c").Name}
	done := make(chan error, 1)
	go pprof.Do(t.ctx, pprof.Labels("locktest", t.unique), func(ctx context.Context) { done <- busy(ctx, b, names[:]) })
	err = <-done
	if closeErr := t.harness.(Closer).Close(b); closeErr != nil {
		t.fatalf("close a client: %v", closeErr)
	}
	if err != nil {
		t.fatalf("%v", err)
	}
	end := time.Now().Add(t.patience)
	for {
		running := goroutines(t.unique)
		if running == "" {
			return
		}
		if time.Now().After(end) {
			t.fatalf("still running after %s:\n%s", t.patience, running)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// busy makes a locker and its backend start every goroutine that they can start.
func busy(ctx context.Context, b driver.Backend, names []string) error {
	l, err := rowlock.New(b, rowlock.TTL(steady), rowlock.RenewEvery(lively/20))
	if err != nil {
		return fmt.Errorf("rowlock.New: %w", err)
	}
	defer l.Close()
	for _, name := range names {
		lease, err := l.Acquire(ctx, name)
		if err != nil {
			return fmt.Errorf("acquire %q: %w", name, err)
		}
		if err := lease.Renew(ctx); err != nil && !errors.Is(err, rowlock.ErrUnknown) { // a slow store may send no reply in time
			return fmt.Errorf("renew %q: %w", name, err)
		}
		if _, err := l.Acquire(ctx, name, rowlock.Wait(lively/20)); err == nil {
			return fmt.Errorf("%q was granted twice", name)
		}
	}
	return l.Close()
}

// goroutines returns the stacks of all goroutines with the label.
func goroutines(label string) string {
	var all bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&all, 1); err != nil {
		return err.Error()
	}
	var found []string
	for stack := range strings.SplitSeq(all.String(), "\n\n") {
		if strings.Contains(stack, fmt.Sprintf("%q:%q", "locktest", label)) {
			found = append(found, stack)
		}
	}
	return strings.Join(found, "\n\n")
}

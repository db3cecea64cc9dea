//go:build unix

package processes_test

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// fleet is the set of worker processes of one run.
type fleet struct {
	t   *testing.T
	job job

	mu      sync.Mutex
	changed chan struct{}     // each event closes this channel, and puts a new one here
	running []*process        // the current worker at each index
	all     []*process        // all workers, also those that were killed
	events  map[string]int    // the number of events of each kind
	detail  map[string]string // the first error of each kind
	faults  faults            // the faults that took effect
}

func newFleet(t *testing.T, j job) *fleet {
	size := workers
	if j.Mixed {
		size = mixedWorkers
	}
	f := &fleet{
		t: t, job: j, changed: make(chan struct{}), running: make([]*process, size),
		events: make(map[string]int), detail: make(map[string]string),
	}
	t.Cleanup(func() {
		for _, p := range f.all {
			_ = p.kill()
		}
	})
	for i := range size {
		require.NoError(t, f.start(i))
	}
	return f
}

// start starts a worker process with index i.
func (f *fleet) start(i int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.job
	j.Worker = i + len(f.running)*len(f.all)
	p, err := launch(j, f.hear)
	if err != nil {
		return err
	}
	f.running[i] = p
	f.all = append(f.all, p)
	return nil
}

func (f *fleet) hear(p *process, e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.log = append(p.log, e)
	f.events[e.What]++
	if e.Detail != "" && f.detail[e.What] == "" {
		f.detail[e.What] = e.Detail
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// await waits until cond returns true, for at most limit, and reports whether it did. It calls cond after each event,
// with mu held.
func (f *fleet) await(limit time.Duration, cond func() bool) bool {
	late := time.NewTimer(limit)
	defer late.Stop()
	for {
		f.mu.Lock()
		met, changed := cond(), f.changed
		f.mu.Unlock()
		if met {
			return true
		}
		select {
		case <-changed:
		case <-late.C:
			return false
		}
	}
}

// at returns the worker at index i, and its newest event.
func (f *fleet) at(i int) (*process, event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running[i], f.running[i].newest()
}

// heard returns how many events of one kind the workers have reported. The parameter what is the word for that kind.
func (f *fleet) heard(what string) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.events[what]
}

// sufferedEach reports whether a fault of each of these kinds took effect.
func (f *fleet) sufferedEach(kinds []fault) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return !slices.ContainsFunc(kinds, func(kind fault) bool { return f.faults[kind] == 0 })
}

// stop sends SIGTERM to all workers, after each has sent its first event. It fails the test if a worker exits with
// another code than 0, or has reported a failure.
func (f *fleet) stop() {
	f.t.Helper()
	require.True(f.t, f.await(time.Minute, func() bool {
		return !slices.ContainsFunc(f.running, func(p *process) bool { return len(p.log) == 0 })
	}), "a worker does not start")
	for _, p := range f.running {
		require.NoError(f.t, p.terminate(), "worker %d", p.Worker)
	}
	for _, p := range f.running {
		require.NoError(f.t, <-p.done, "worker %d", p.Worker)
	}
	for what, detail := range f.detail {
		f.t.Logf("%d %s, such as: %s", f.events[what], what, detail)
	}
	assert.Zero(f.t, f.events[failed], f.detail[failed])
}

//go:build unix

package chain_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// fleet is the worker processes of one run.
type fleet struct {
	t   *testing.T
	job job

	mu      sync.Mutex
	changed chan struct{} // closed, and made anew, when something is told
	running []*process
	started int
	events  map[string]int    // how often each thing was told
	detail  map[string]string // the first error of each kind
	acked   map[int64]bool    // ends of the chains that were reported as committed
}

// process is one worker, as far as the supervisor knows it.
type process struct {
	cmd    *exec.Cmd
	worker int
	told   event // the newest
	done   chan error
}

func newFleet(t *testing.T, j job) *fleet {
	f := &fleet{
		t: t, job: j, changed: make(chan struct{}),
		events: make(map[string]int), detail: make(map[string]string), acked: make(map[int64]bool),
	}
	f.running = make([]*process, workers)
	t.Cleanup(func() {
		for _, p := range f.running {
			if p != nil {
				_ = p.cmd.Process.Kill()
				<-p.done
			}
		}
	})
	for i := range workers {
		require.NoError(t, f.start(i))
	}
	return f
}

// start starts a worker at place i; each process has a number of its own.
func (f *fleet) start(i int) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	j := f.job
	j.Worker = i + workers*f.started
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	f.started++
	p := &process{cmd: cmd, worker: j.Worker, done: make(chan error, 1)}
	f.running[i] = p
	go func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				e = event{What: failed, Detail: "not an event: " + lines.Text()}
			}
			f.hear(p, e)
		}
		p.done <- cmd.Wait()
		close(p.done)
	}()
	return nil
}

func (f *fleet) hear(p *process, e event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	p.told = e
	f.events[e.What]++
	if e.Detail != "" && f.detail[e.What] == "" {
		f.detail[e.What] = e.Detail
	}
	if e.What == wrote {
		f.acked[e.Last] = true
	}
	close(f.changed)
	f.changed = make(chan struct{})
}

// await waits until something told makes cond true, and reports whether it did within limit. cond is
// called with mu held.
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

// at is the worker at place i, and what it told last.
func (f *fleet) at(i int) (*process, event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.running[i], f.running[i].told
}

// stop lets every worker end in good order, when it can heed a signal.
func (f *fleet) stop() {
	require.True(f.t, f.await(time.Minute, func() bool {
		return !slices.ContainsFunc(f.running, func(p *process) bool { return p.told.What == "" })
	}), "a worker does not start")
	for _, p := range f.running {
		require.NoError(f.t, p.cmd.Process.Signal(syscall.SIGTERM), "worker %d", p.worker)
	}
	for _, p := range f.running {
		require.NoError(f.t, <-p.done, "worker %d", p.worker)
	}
}

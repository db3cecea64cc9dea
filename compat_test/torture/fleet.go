//go:build linux

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// fleet has the worker processes of one run. Each process has its own slot. If a worker is killed,
// another process takes its slot.
type fleet struct {
	world *world
	log   *history.Log

	mu      sync.Mutex
	places  []*process
	started int
	seen    seen
	died    error // the error of a worker that ended although the torture did not kill it
}

// process is one worker. The state of its leases is read from its log.
type process struct {
	cmd     *exec.Cmd
	stdin   io.Closer
	worker  int
	slot    int
	network network
	addrs   []string
	done    chan struct{}
	killed  bool
	frozen  sync.Mutex // held by the goroutine that has suspended the process

	tail  *os.File
	part  []byte
	holds map[string]history.Event // for each name, the newest event of the lease that the worker holds
	since map[string]int64         // for each name, when the worker was last granted the name
}

// start starts a worker in a slot. If n is nil, the worker gets a new network.
func (f *fleet) start(slot int, n network, addrs []string) (err error) {
	if n == nil {
		if n, addrs, err = f.world.newNetwork(); err != nil {
			return err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.started++
	j := f.world.direct
	j.Nodes, j.Worker, j.Slot = addrs, f.started, slot
	text, err := json.Marshal(j)
	if err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	p := &process{worker: j.Worker, slot: slot, network: n, addrs: addrs, done: make(chan struct{}), holds: map[string]history.Event{}, since: map[string]int64{}}
	p.cmd = exec.Command(self, workerArgument, string(text))
	p.cmd.Env = append(os.Environ(), "GOMAXPROCS=1")
	p.cmd.Stderr = os.Stderr
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return err
	}
	started := make(chan error)
	go func() {
		runtime.LockOSThread() // locks the goroutine to its thread, because Pdeathsig kills the worker when this thread ends
		defer runtime.UnlockOSThread()
		err := p.cmd.Start()
		started <- err
		if err == nil {
			f.ended(p, p.cmd.Wait())
		}
	}()
	if err := <-started; err != nil {
		return err
	}
	f.places[slot] = p
	return nil
}

func (f *fleet) ended(p *process, err error) {
	f.log.Write(history.Event{Kind: history.Death, Worker: p.worker})
	f.mu.Lock()
	defer f.mu.Unlock()
	if err != nil && !p.killed && f.died == nil {
		f.died = fmt.Errorf("worker %d: %w", p.worker, err)
	}
	close(p.done)
}

// kill ends a worker at once.
func (f *fleet) kill(p *process) {
	f.mu.Lock()
	p.killed = true
	f.mu.Unlock()
	_ = p.cmd.Process.Kill()
	<-p.done
}

// holder returns the worker that holds the target of a fault, and the newest event of the lease.
// It reads the logs of the workers up to now.
func (f *fleet) holder(target string) (found *process, newest history.Event) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.places {
		f.read(p)
		if e, ok := p.newest(target); ok && e.Token > newest.Token {
			found, newest = p, e
		}
	}
	return found, newest
}

// heldBy returns the newest event of the lease with which worker p holds the target. While the worker is suspended, the
// answer stays correct.
func (f *fleet) heldBy(p *process, target string) (history.Event, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.read(p)
	return p.newest(target)
}

// newest returns the newest event of a lease of p that matches the target. If several leases match, it returns the one
// with the largest token.
func (p *process) newest(target string) (newest history.Event, held bool) {
	for name, e := range p.holds {
		if isOf(name, target) && (!held || e.Token > newest.Token) {
			newest, held = e, true
		}
	}
	return newest, held
}

// grantedSince reports whether any worker was granted a name after an instant.
func (f *fleet) grantedSince(name string, at int64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, p := range f.places {
		if f.read(p); p.since[name] > at {
			return true
		}
	}
	return false
}

// awaitHolder waits until a worker holds a name. If no worker acquires the name within limit, awaitHolder returns nil.
func (f *fleet) awaitHolder(name string, limit time.Duration) (*process, history.Event) {
	for end := time.Now().Add(limit); ; time.Sleep(5 * time.Millisecond) {
		if p, e := f.holder(name); p != nil || time.Now().After(end) {
			return p, e
		}
	}
}

// read reads the new lines of a worker's log. The caller must hold mu.
func (f *fleet) read(p *process) {
	if p.tail == nil {
		p.tail, _ = os.Open(history.LogFile(f.world.folder, p.worker)) // the worker may not have created the log yet
	}
	if p.tail == nil {
		return
	}
	more, _ := io.ReadAll(p.tail)
	p.part = append(p.part, more...)
	for {
		line, rest, found := bytes.Cut(p.part, []byte{'\n'})
		if !found {
			return
		}
		p.part = rest
		var e history.Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		f.seen.add(e)
		if e.Kind == history.Granted {
			p.since[e.Name] = e.At
		}
		switch e.Kind {
		case history.Granted, history.Seen, history.Read, history.Write, history.Wrote:
			p.holds[e.Name] = e
		case history.Release, history.Released:
			if p.holds[e.Name].Try == e.Try { // another loop of the worker may have acquired the name in the meantime
				delete(p.holds, e.Name)
			}
		}
	}
}

// saw counts an event that is not in the workers' logs.
func (f *fleet) saw(what func(*seen)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	what(&f.seen)
}

// end asks every worker to end, and waits until all have ended.
func (f *fleet) end(limit time.Duration) error {
	for _, p := range f.places {
		_ = p.cmd.Process.Signal(syscall.SIGTERM)
	}
	late := time.After(limit)
	for _, p := range f.places {
		select {
		case <-p.done:
		case <-late:
			_ = p.cmd.Process.Signal(syscall.SIGQUIT) // on SIGQUIT the worker prints its goroutines
			return fmt.Errorf("worker %d does not end", p.worker)
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.died
}

// abandon kills the remaining workers.
func (f *fleet) abandon() {
	for _, p := range f.places {
		if p == nil {
			continue
		}
		f.kill(p)
		p.stdin.Close()
		for _, n := range p.network {
			n.Close()
		}
		if p.tail != nil {
			p.tail.Close()
		}
	}
}

package processes_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Eight processes on each database, killed by -9 and stopped for longer than their TTL: tokens rise,
// each is one process's, no two processes trust at once, no count is lost, and the name of a killed
// holder is free within its TTL and a second.
func TestCounterUnderFaults(t *testing.T) {
	for name, d := range databases {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly it waits
			dsn, db := d.prepare(t)
			f := &fleet{t: t, store: name, dsn: dsn, dir: t.TempDir()}
			for i := range workers {
				f.start(i)
			}
			f.disturb(faultsPerRun())
			slowest := f.killHolders(3)
			f.awaitGrants(enough)
			f.stop()
			check(t, d, db, f.events())
			t.Logf("%d killed, %d of them holders whose names were taken over after %s at most", f.killed, 3, slowest.Round(time.Millisecond))
		})
	}
}

func faultsPerRun() int {
	if testing.Short() {
		return 6
	}
	return 18
}

// fleet is the worker processes of one run.
type fleet struct {
	t               *testing.T
	store, dsn, dir string
	running         []*exec.Cmd
	killed          int
}

// start starts worker i, anew if it was killed, with a log of its own.
func (f *fleet) start(i int) {
	j := job{Store: f.store, DSN: f.dsn, Worker: i + workers*f.killed}
	j.Log = filepath.Join(f.dir, fmt.Sprint(j.Worker, ".log"))
	text, err := json.Marshal(j)
	require.NoError(f.t, err)
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	require.NoError(f.t, cmd.Start())
	if i == len(f.running) {
		f.running = append(f.running, cmd)
	} else {
		f.running[i] = cmd
	}
	f.t.Cleanup(func() { _ = cmd.Process.Kill() })
}

// victim is mostly a worker whose log ends in the midst of holding a lock, and else any.
func (f *fleet) victim() int {
	for _, i := range rand.Perm(workers) {
		if events := f.log(f.path(i)); len(events) > 0 && rand.IntN(8) > 0 {
			if last := events[len(events)-1]; last.What != "asked" && last.What != "released" {
				return i
			}
		}
	}
	return rand.IntN(workers)
}

// path is the log of the worker that runs at place i.
func (f *fleet) path(i int) string {
	var j job
	last := f.running[i].Env[len(f.running[i].Env)-1]
	require.NoError(f.t, json.Unmarshal([]byte(last[len(jobVariable)+1:]), &j))
	return j.Log
}

// disturb kills and stops workers, one at a time.
func (f *fleet) disturb(faults int) {
	for range faults {
		time.Sleep(rand.N(300 * time.Millisecond)) // let them work
		i := f.victim()
		if rand.IntN(2) == 0 {
			f.kill(i)
			f.start(i)
			continue
		}
		require.NoError(f.t, f.running[i].Process.Signal(syscall.SIGSTOP))
		time.Sleep(ttl + rand.N(ttl/2)) // the fault itself: a pause beyond the TTL
		require.NoError(f.t, f.running[i].Process.Signal(syscall.SIGCONT))
	}
}

func (f *fleet) kill(i int) {
	require.NoError(f.t, f.running[i].Process.Signal(syscall.SIGKILL))
	_ = f.running[i].Wait()
	f.killed++
}

// killHolders kills workers that hold a lock, and looks for how soon their names are granted again,
// with nothing else going wrong.
func (f *fleet) killHolders(n int) (slowest time.Duration) {
	for n > 0 {
		i := f.victim()
		path := f.path(i)
		if _, held := lastGrant(f.log(path)); !held {
			continue // no use in killing it
		}
		at := now()
		f.kill(i)
		f.start(i)
		dead, held := lastGrant(f.log(path))
		if !held {
			continue
		}
		n--
		next := f.await(dead)
		took := time.Duration(next.At - at)
		slowest = max(slowest, took)
		assert.LessOrEqual(f.t, took, ttl+time.Second, "name %d, token %d: then token %d, worker %d", dead.Name, dead.Token, next.Token, next.Worker)
	}
	return slowest
}

// lastGrant is the last grant of a log, and whether it was still held at its end.
func lastGrant(log []event) (last event, held bool) {
	for _, e := range log {
		switch e.What {
		case "granted":
			last, held = e, true
		case "released":
			held = false
		}
	}
	return last, held
}

// await waits until the name is granted to somebody after dead.
func (f *fleet) await(dead event) (next event) {
	require.Eventually(f.t, func() bool {
		for _, log := range f.events() {
			for _, e := range log {
				if e.What == "granted" && e.Name == dead.Name && e.Token > dead.Token && (next.Token == 0 || e.Token < next.Token) {
					next = e
				}
			}
		}
		return next.Token != 0
	}, time.Minute, 20*time.Millisecond)
	return next
}

// awaitGrants waits until so many leases were granted.
func (f *fleet) awaitGrants(n int) {
	require.Eventually(f.t, func() bool {
		granted := 0
		for _, log := range f.events() {
			for _, e := range log {
				if e.What == "granted" {
					granted++
				}
			}
		}
		return granted > n
	}, time.Minute, 50*time.Millisecond)
}

// stop lets every worker end in good order, when it can heed a signal.
func (f *fleet) stop() {
	for i := range f.running {
		require.Eventually(f.t, func() bool { return len(f.log(f.path(i))) > 0 }, time.Minute, 20*time.Millisecond, "worker %d does not start", i)
	}
	for _, cmd := range f.running {
		require.NoError(f.t, cmd.Process.Signal(syscall.SIGTERM))
	}
	for _, cmd := range f.running {
		require.NoError(f.t, cmd.Wait())
	}
}

// events reads every log.
func (f *fleet) events() map[string][]event {
	all := make(map[string][]event)
	paths, err := filepath.Glob(filepath.Join(f.dir, "*.log"))
	require.NoError(f.t, err)
	for _, path := range paths {
		all[path] = f.log(path)
	}
	return all
}

// log reads one log, of a worker who may be writing to it.
func (f *fleet) log(path string) (events []event) {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it has only just been started
	}
	require.NoError(f.t, err)
	for line := range bytes.Lines(text) {
		var e event
		require.NoError(f.t, json.Unmarshal(line, &e), "%s", line)
		events = append(events, e)
	}
	return events
}

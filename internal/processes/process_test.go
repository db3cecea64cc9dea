//go:build unix

package processes_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// process is one worker process of a fleet.
type process struct {
	job
	cmd  *exec.Cmd
	log  []event    // the events that the worker reported; guarded by the fleet's mu
	done chan error // after the last event, this channel receives the error of exec.Cmd.Wait, and is then closed
}

// launch starts a worker, and calls the function hear with each of its events.
func launch(j job, hear func(*process, event)) (*process, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(j.kind().argv[0], j.kind().argv[1:]...)
	cmd.Env = append(append(os.Environ(), jobVariable+"="+string(text)), j.environment()...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	if !j.Mixed {
		cmd.Stderr = os.Stderr
	}
	output, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{job: j, cmd: cmd, done: make(chan error, 1)}
	go func() {
		for lines := bufio.NewScanner(output); lines.Scan(); {
			var e event
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				e = event{What: failed, Detail: "not an event: " + lines.Text()}
			}
			hear(p, e)
		}
		p.done <- cmd.Wait()
		close(p.done)
	}()
	return p, nil
}

// newest returns the newest event, or a zero event if there is none.
func (p *process) newest() (e event) {
	if n := len(p.log); n > 0 {
		e = p.log[n-1]
	}
	return e
}

// held returns the event of the last grant, and reports whether the worker still holds the lock.
func (p *process) held() (last event, held bool) {
	for _, e := range p.log {
		switch e.What {
		case granted:
			last, held = e, true
		case released:
			held = false
		}
	}
	return last, held
}

func (p *process) suspend() error   { return p.signal(syscall.SIGSTOP) }
func (p *process) resume() error    { return p.signal(syscall.SIGCONT) }
func (p *process) terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// kill kills the worker, and returns after its last event has been read.
func (p *process) kill() error {
	err := p.signal(syscall.SIGKILL)
	<-p.done
	return err
}

// signal sends a signal to the worker and to all processes that it has started. The youngest is first: so a stale
// child continues before its parent can stop it.
func (p *process) signal(s syscall.Signal) error {
	for _, pid := range slices.Backward(related(session, p.cmd.Process.Pid)) {
		_ = syscall.Kill(pid, s) // ignored: the process may have ended
	}
	return p.cmd.Process.Signal(s)
}

// killParent kills "rowlock run", but not the processes that it has started for the worker. It first kills the guard of
// "rowlock run", which would kill these processes. It reports whether there was a "rowlock run".
func (p *process) killParent() bool {
	for _, run := range related(session, p.cmd.Process.Pid) {
		if argument(run) != "run" {
			continue
		}
		for _, guard := range related(parent, run) {
			if argument(guard) == "__guard" {
				_ = syscall.Kill(guard, syscall.SIGKILL)
			}
		}
		return syscall.Kill(run, syscall.SIGKILL) == nil
	}
	return false
}

// These are positions in the file /proc/PID/stat, after the name of the program.
const (
	parent  = 1
	session = 3
)

// related returns the other processes that have this parent or session, in the order of their ids. On systems without
// /proc it returns none.
func related(field, id int) (pids []int) {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		_, fields, _ := strings.Cut(string(text), ") ") // the name of the program may contain spaces
		values := strings.Fields(fields)
		if pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file))); len(values) > field && values[field] == strconv.Itoa(id) && pid != id {
			pids = append(pids, pid)
		}
	}
	slices.Sort(pids)
	return pids
}

// argument returns the first argument of the process.
func argument(pid int) string {
	text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
	words := strings.Split(string(text), "\x00")
	return words[min(1, len(words)-1)]
}

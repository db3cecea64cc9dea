//go:build unix

package processes_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"syscall"
)

// process is one worker, as its fleet knows it.
type process struct {
	job
	cmd  *exec.Cmd
	log  []event    // what it told; guarded by the fleet's mu
	done chan error // how it ended, after its last event; then closed
}

// launch starts a worker. hear is called with each of its events.
func launch(j job, hear func(*process, event)) (*process, error) {
	text, err := json.Marshal(j)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), jobVariable+"="+string(text))
	cmd.Stderr = os.Stderr
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

// told is the newest event, if there is any.
func (p *process) told() (e event) {
	if n := len(p.log); n > 0 {
		e = p.log[n-1]
	}
	return e
}

// held is the last grant, and whether it was not released.
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

func (p *process) suspend() error   { return p.cmd.Process.Signal(syscall.SIGSTOP) }
func (p *process) resume() error    { return p.cmd.Process.Signal(syscall.SIGCONT) }
func (p *process) terminate() error { return p.cmd.Process.Signal(syscall.SIGTERM) }

// kill returns when the last event was heard.
func (p *process) kill() error {
	err := p.cmd.Process.Kill()
	<-p.done
	return err
}

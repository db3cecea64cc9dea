package stdio

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

const (
	longestLine = 1 << 20 // of a reply, in bytes
	keptOutput  = 2 << 10 // how much of the end of stderr an error contains, in bytes
)

// limits are the time limits of a program.
type limits struct {
	call  time.Duration // a call without an earlier deadline fails after this time
	start time.Duration // the same for capabilities, the first call, during which the program starts
	lock  time.Duration // the same for lock, plus the time for which it may wait: a client repeats a request that has no reply
	end   time.Duration // how long the program may take to end after the end of its stdin
}

var usualLimits = limits{call: 10 * time.Second, start: time.Minute, lock: 30 * time.Second, end: 20 * time.Second}

// program is one running process that replies to requests. It is safe for concurrent use.
type program struct {
	limits limits
	cmd    *exec.Cmd
	stdout io.ReadCloser
	lines  chan []byte   // requests for the goroutine that writes them to stdin
	closed chan struct{} // closed when stdin must be closed
	ended  chan struct{} // closed when the process has ended; why is then valid
	errors tail

	mu      sync.Mutex
	last    int64 // the last id
	pending map[int64]chan *reply
	owes    bool  // a caller has given up before its reply came
	why     error // why the program cannot reply any longer
	closing sync.Once
}

// start starts the command with env as its environment.
func start(command, env []string, limits limits) (*program, error) {
	p := &program{
		limits: limits, cmd: exec.Command(command[0], command[1:]...), lines: make(chan []byte), closed: make(chan struct{}),
		ended: make(chan struct{}), pending: map[int64]chan *reply{},
	}
	p.cmd.Env, p.cmd.Stderr, p.cmd.WaitDelay = env, &p.errors, time.Second
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if p.stdout, err = p.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the program: %w", err)
	}
	go p.write(stdin)
	go p.read()
	return p, nil
}

// write writes the requests, and closes stdin at the end.
func (p *program) write(stdin io.WriteCloser) {
	defer stdin.Close()
	for {
		select {
		case line := <-p.lines:
			if _, err := stdin.Write(line); err != nil {
				return // the method read reports the end of the program
			}
		case <-p.closed:
			return
		case <-p.ended:
			return
		}
	}
}

// read hands each reply to its call. After the end of stdout it waits for the end of the process, and kills a process
// that does not end itself.
func (p *program) read() {
	defer close(p.ended)
	lines := bufio.NewScanner(p.stdout)
	lines.Buffer(nil, longestLine)
	var why error
	for why == nil && lines.Scan() {
		why = p.answer(lines.Bytes())
	}
	if err := lines.Err(); why == nil && err != nil && !errors.Is(err, os.ErrClosed) { // the method kill closes stdout
		why = fmt.Errorf("read the program's stdout: %w", err)
	}
	if why != nil {
		_ = p.cmd.Process.Kill()
	}
	late := time.AfterFunc(time.Second, func() { _ = p.cmd.Process.Kill() })
	err := p.cmd.Wait()
	late.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	if why == nil {
		why = errors.New("the program has ended")
		if err != nil {
			why = fmt.Errorf("the program has ended: %w", err)
		}
	}
	if text := p.errors.text(); text != "" {
		why = fmt.Errorf("%w; its stderr ends with: %s", why, text)
	}
	p.why = why
}

func (p *program) answer(line []byte) error {
	var r reply
	if err := json.Unmarshal(line, &r); err != nil || r.ID == nil {
		return fmt.Errorf("the program wrote a line to stdout that is no reply: %.200q", line)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if *r.ID > p.last || *r.ID < 1 {
		return fmt.Errorf("the program replied to the request %d, which was never sent", *r.ID)
	}
	if call := p.pending[*r.ID]; call != nil { // the caller may have given up
		call <- &r
		delete(p.pending, *r.ID)
	}
	return nil
}

// errNoReply is the error of a call on which the program may still be working.
var errNoReply = errors.New("the program sent no reply")

// call sends a request and returns the reply. If no reply comes before ctx ends, the outcome is unknown.
func (p *program) call(ctx context.Context, r request) (*reply, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	limit := p.limits.call
	switch r.Op {
	case "capabilities":
		limit = p.limits.start
	case "lock":
		limit = p.limits.lock + micros(r.WaitUS)
	}
	if deadline, ok := ctx.Deadline(); ok {
		limit = min(limit, time.Until(deadline))
	}
	r.LimitUS = limit.Microseconds()
	timer := time.NewTimer(limit)
	defer timer.Stop()
	replied := make(chan *reply, 1)
	p.mu.Lock()
	p.last++
	r.ID = p.last
	p.pending[r.ID] = replied
	p.mu.Unlock()
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.pending[r.ID] != nil {
			p.owes = true
			delete(p.pending, r.ID)
		}
	}()
	line, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	line = append(line, '\n')
	lines := p.lines
	for {
		select {
		case lines <- line:
			lines = nil
		case answer := <-replied:
			return answer, answer.failure()
		case <-p.ended:
			return nil, p.why
		case <-ctx.Done():
			return nil, fmt.Errorf("%w to %q: %w", errNoReply, r.Op, ctx.Err())
		case <-timer.C:
			return nil, fmt.Errorf("%w to %q within %s", errNoReply, r.Op, limit.Round(time.Millisecond))
		}
	}
}

// isIdle reports whether the program runs, and has replied to every request.
func (p *program) isIdle() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.why == nil && !p.owes && len(p.pending) == 0
}

// close ends stdin, and returns when the process has ended. It kills a process that does not end itself.
func (p *program) close() error {
	p.closing.Do(func() { close(p.closed) })
	timer := time.NewTimer(p.limits.end)
	defer timer.Stop()
	select {
	case <-p.ended:
		return nil
	case <-timer.C:
		p.kill()
		return fmt.Errorf("the program did not end within %s after the end of its stdin, and was killed", p.limits.end)
	}
}

// kill kills the process. It also closes stdout, because a process that the program has started may keep it open.
func (p *program) kill() {
	_ = p.cmd.Process.Kill()
	_ = p.stdout.Close()
	<-p.ended
}

// tail keeps the end of what is written to it.
type tail struct {
	mu   sync.Mutex
	kept []byte
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = append(t.kept, b...)
	t.kept = bytes.Clone(t.kept[max(0, len(t.kept)-keptOutput):])
	return len(b), nil
}

func (t *tail) text() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(strings.Fields(string(t.kept)), " ")
}

package testserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// command is what to run.
type command struct {
	argv []string
	env  []string       // besides that of all servers
	as   *account       // nil: as ourselves
	quit syscall.Signal // ends it at once and in order; 0: it leaves nothing behind when killed
	stop syscall.Signal // shuts it down as an operator does; 0: SIGTERM
}

// process is a running server.
type process struct {
	pid  int
	quit syscall.Signal
	stop syscall.Signal
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	err  error         // why, once done is closed
}

// startProcess runs a server in its folder, with its own log, in a process group of its own so that a Ctrl-C at the
// terminal reaches us and not it.
func startProcess(c command, f *folder) (*process, error) {
	log, err := os.OpenFile(f.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.path, append(environment(f), c.env...), log, log
	death := c.quit
	if death == 0 {
		death = syscall.SIGKILL
	}
	cmd.SysProcAttr = serverAttributes(c.as, death)

	p := &process{quit: c.quit, stop: cmp.Or(c.stop, syscall.SIGTERM), cmd: cmd, done: make(chan struct{})}
	started := make(chan error)
	go func() {
		// The signal that ends the server with us is sent when the *thread* that started it ends. The Go runtime ends
		// threads when it likes to, except the one that a goroutine holds.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = cmd.Process.Pid
	return p, nil
}

// end ends the server the quick and orderly way, and by force when that takes too long.
func (p *process) end() {
	if p.quit != 0 {
		_ = p.cmd.Process.Signal(p.quit)
		if p.ended(stopLimit) {
			return
		}
	}
	p.kill()
}

// shutdown ends the server in its own time.
func (p *process) shutdown() error {
	if err := p.cmd.Process.Signal(p.stop); err != nil {
		return err
	}
	if !p.ended(readyLimit) {
		return errors.New("it does not end")
	}
	return nil
}

func (p *process) kill() {
	signalGroup(p.cmd.Process, syscall.SIGKILL)
	p.ended(stopLimit)
}

func (p *process) ended(within time.Duration) bool {
	select {
	case <-p.done:
		return true
	case <-time.After(within):
		return false
	}
}

// runStep runs a program that prepares something, to its end, its output in the server's log.
func runStep(ctx context.Context, c command, f *folder, stdin *os.File) error {
	log, err := os.OpenFile(f.log(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = f.path, append(environment(f), c.env...), log, log
	if stdin != nil {
		cmd.Stdin = stdin
	}
	cmd.SysProcAttr = stepAttributes(c.as)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // initdb ends its children in order
	cmd.WaitDelay = stopLimit
	if err := cmd.Run(); err != nil {
		signalGroup(cmd.Process, syscall.SIGKILL)
		return fmt.Errorf("%s: %w", c.argv[0], errors.Join(err, ctx.Err()))
	}
	return nil
}

// environment is the same on every machine: no locale, no time zone and no PGDATA of the caller.
func environment(f *folder) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + f.path, "TMPDIR=" + f.path, "TZ=UTC"}
}

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

// command is a command line, together with its environment, account and signals.
type command struct {
	argv []string
	env  []string       // in addition to the variables of all servers
	as   *account       // the account; nil: the account of this process
	quit syscall.Signal // the signal on which the server cleans up and ends at once; 0 if a killed server leaves nothing to clean up
	stop syscall.Signal // the signal with which an operator shuts the server down; 0 means SIGTERM
}

// process is a running server.
type process struct {
	pid  int
	quit syscall.Signal
	stop syscall.Signal
	cmd  *exec.Cmd
	done chan struct{} // closed when the server has ended
	err  error         // how the server ended; valid after the channel done is closed
}

// startProcess runs a server in its folder, with a separate log. The server has a separate process group,
// so that Ctrl-C at the terminal is not sent to the server.
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
		// The server must end when this process ends. The kernel signals the server when the *thread*
		// that started it ends. The Go runtime may end any thread that is not locked to a goroutine.
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

// end sends the server the signal quit, and kills the server if it does not end soon.
func (p *process) end() {
	if p.quit != 0 {
		_ = p.cmd.Process.Signal(p.quit)
		if p.ended(stopLimit) {
			return
		}
	}
	p.kill()
}

// shutdown shuts the server down, and waits until it has ended.
func (p *process) shutdown() error {
	if err := p.cmd.Process.Signal(p.stop); err != nil {
		return err
	}
	if !p.ended(readyLimit) {
		return errors.New("the server does not end")
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

// used returns the processor time of a server that has ended, with that of the processes that the server has started.
func (p *process) used() time.Duration {
	select {
	case <-p.done:
		return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
	default:
		return 0
	}
}

// runStep runs a program that prepares the server, and waits until it ends. The program's output goes to the server's
// log.
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
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGTERM) } // SIGTERM lets initdb end its child processes
	cmd.WaitDelay = stopLimit
	if err := cmd.Run(); err != nil {
		signalGroup(cmd.Process, syscall.SIGKILL)
		return fmt.Errorf("%s: %w", c.argv[0], errors.Join(err, ctx.Err()))
	}
	return nil
}

// environment returns the same variables on every machine. It omits the locale, time zone and PGDATA of the caller.
func environment(f *folder) []string {
	return []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C", "HOME=" + f.path, "TMPDIR=" + f.path, "TZ=UTC"}
}

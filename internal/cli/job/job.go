// Package job runs a command under a lease. It tells the command its lock, and stops the command when the lock is lost
// or its time is over. It releases the lease when no process of the command's group is left.
package job

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/child"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Job is a command that runs under a lease.
type Job struct {
	Log            *terminal.Messages
	Lease          *rowlock.Lease
	Outer          Outer           // the lock as a run inside the command sees it
	Slot           string          // the number of the lease's slot; empty if the lock is not a slot
	Recorded       <-chan struct{} // closed when the start of the run has been recorded
	Signals        *system.Signals
	Timeout, Grace time.Duration
	GraceWhenLost  time.Duration // counted back from the end of the lease, and not from when its loss was noticed

	Outcome string // of the run, after it has ended

	child      *child.Process
	foreground child.Foreground
	killAt     time.Time     // zero until the group has received TERM
	given      time.Duration // the grace period until killAt
}

// Run starts the command, supervises it until no process of its group is left, and releases the lease.
func (j *Job) Run(path string, argv []string, std system.Stdio) (int, error) {
	j.Signals.ForwardStops() // before the command can be seen to run
	child, err := child.Start(path, argv, under(std.Env, j.Lease, j.Outer, j.Slot), std)
	if err != nil {
		j.Outcome = Failed
		_ = j.Lease.Release(context.Background()) // the start's own error is returned instead
		return 0, err
	}
	j.child, j.Outcome = child, Exited
	code := j.supervise()
	j.foreground.TakeBack()
	j.Log.Event("exited", append(j.attrs(), slog.Int("exit_code", code))...)
	return j.release(code), nil
}

// supervise returns the exit code: the command's own, or the reason why it was stopped.
func (j *Job) supervise() int {
	var (
		code, stopped            int
		exited                   = j.child.Exited
		lost                     = j.Lease.Context().Done()
		timeout, leftovers, kill <-chan time.Time
	)
	if j.Timeout > 0 {
		timeout = time.After(j.Timeout)
	}
	for {
		select {
		case sig := <-j.Signals.C:
			j.foreground.Forward(j.child, sig)
		case sig := <-j.child.Paused:
			j.foreground.ChildPaused(j.child, sig, j.suspend)
		case code = <-exited:
			exited, timeout = nil, nil
			if kill == nil {
				leftovers = time.After(j.Grace)
			}
		case <-j.child.Gone:
			if exited != nil {
				code = <-exited
			}
			if stopped != 0 {
				return stopped
			}
			return code
		case <-lost:
			lost, leftovers, stopped, j.Outcome = nil, nil, exit.Lost, Lost
			j.say(terminal.Error, "lost", terminal.Plain(j.Lease.Err())+"; stopping the command")
			kill = j.stop(min(j.GraceWhenLost, time.Until(j.Lease.ExpiresAt().Add(j.GraceWhenLost))))
		case <-timeout:
			if stopped == 0 {
				stopped, j.Outcome = exit.Timeout, TimedOut
			}
			j.say(terminal.Error, "timeout", fmt.Sprintf("stopping the command after %s", j.Timeout))
			kill = j.stop(j.Grace)
		case <-leftovers:
			j.say(terminal.Warn, "left over", "the command has ended and left processes behind; stopping them")
			kill = j.stop(j.Grace)
		case <-kill:
			j.say(terminal.Warn, "killing", fmt.Sprintf("still running %s after TERM; killing", j.given.Round(time.Millisecond)))
			j.child.Kill()
		}
	}
}

var errSuspended = errors.New("rowlock was suspended")

// suspendTimeout limits how long rowlock waits for its own writes before it is suspended.
const suspendTimeout = 5 * time.Second

// suspend stops rowlock until it is continued, and reports whether the lease is then still trusted. It first waits
// until rowlock's own writes are done. A process that is suspended inside a transaction keeps a SQLite file locked for
// every other process, and no TTL ends that.
func (j *Job) suspend() (trusted bool) {
	<-j.Recorded
	ctx, cancel := context.WithTimeout(context.Background(), suspendTimeout)
	defer cancel()
	suspended := false
	_ = j.Lease.ReleaseWith(ctx, func(context.Context) error { // runs between two renewals
		suspended = true
		j.Signals.Suspend()
		return errSuspended // so the lease is kept
	})
	if !suspended { // the lease has ended, or the store does not answer
		j.Signals.Suspend()
	}
	return j.Lease.Err() == nil
}

// stop tells the group to end, and returns when to kill it, which is never later than decided before. If no time is
// left, it does not send TERM: a suspended process would be continued, and run without the lock.
func (j *Job) stop(grace time.Duration) (kill <-chan time.Time) {
	if at := time.Now().Add(grace); j.killAt.IsZero() || at.Before(j.killAt) {
		j.killAt, j.given = at, max(grace, 0)
	}
	if time.Until(j.killAt) > 0 {
		j.child.Terminate()
	}
	return time.After(time.Until(j.killAt))
}

// release ends the lease after the whole group has ended, and returns the final exit code.
func (j *Job) release(code int) int {
	err := j.Lease.Release(context.Background())
	switch {
	case err == nil || code == exit.Lost:
		return code
	case errors.Is(err, rowlock.ErrLost):
		j.say(terminal.Error, "lost", fmt.Sprintf("%s, before the command ended with exit code %d", terminal.Plain(err), code))
		j.Outcome = Lost
		return exit.Lost
	default:
		j.say(terminal.Warn, "not released", fmt.Sprintf("the command has ended, and its lock becomes free when the lease expires: %s", terminal.Plain(err)))
		return code
	}
}

func (j *Job) say(level slog.Level, event, sentence string) {
	j.Log.Say(level, event, sentence, j.attrs()...)
}

func (j *Job) attrs() []slog.Attr {
	key := driver.Key{Namespace: j.Lease.Namespace(), Name: j.Lease.Name()}
	return append(terminal.KeyAttrs(key, j.Lease.Token()), slog.String("holder", j.Lease.Holder()))
}

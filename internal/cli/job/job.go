// Package job runs a command under a lease. Environment variables tell the command its lock. The package stops the
// command when the lease is lost or --timeout has passed. The package releases the lease when no process of the
// command's group is left.
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

// Job describes a command and the lease under which it runs.
type Job struct {
	Log            *terminal.Messages
	Lease          *rowlock.Lease
	Outer          Outer           // describes this lock to a "rowlock run" inside the command
	Slot           string          // the number of the lease's slot; empty if the lock is not a slot
	Guard          *child.Guard    // kills the command if rowlock is killed
	Children       *Children       // answers the processes that inherit the lease; nil if there is no socket for them
	Recorded       <-chan struct{} // closed when the start of the run has been recorded
	Signals        *system.Signals
	Timeout, Grace time.Duration
	GraceWhenLost  time.Duration // the time between TERM and KILL if the lease is lost; it begins when trust in the lease ends

	Outcome string // the outcome of the run, set at its end

	child      *child.Process
	foreground child.Foreground
	killAt     time.Time     // when to send KILL; zero until the group has received TERM
	given      time.Duration // the grace period that ends at killAt
}

// Run starts the command, supervises it until no process of its group is left, and releases the lease.
func (j *Job) Run(path string, argv []string, std system.Stdio) (int, error) {
	j.Signals.ForwardStops() // called before the command starts, so that rowlock misses no press of the suspend key
	child, err := child.Start(path, argv, under(std.Env, j.Lease, j.Outer, j.Slot, j.Children), std, j.Guard, j.Children.folder())
	if err != nil {
		j.Outcome = Failed
		_ = j.Lease.Release(context.Background()) // ignored: Run returns the error of the start
		return 0, err
	}
	j.child, j.Outcome = child, Exited
	code := j.supervise()
	j.foreground.TakeBack()
	j.Log.Event("exited", append(j.attrs(), slog.Int("exit_code", code))...)
	return j.release(code), nil
}

// supervise waits until no process of the group is left, and stops the command if necessary. It returns the exit code
// of the command, or the code for the reason of the stop.
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
			j.say(terminal.Warn, "killing", stillRunning(j.given))
			j.child.Kill()
		}
	}
}

// stillRunning says that the command has not ended in the time that it was given after TERM.
func stillRunning(given time.Duration) string {
	if given < time.Millisecond {
		return "no time is left for the command to end by itself; killing"
	}
	return fmt.Sprintf("still running %s after TERM; killing", given.Round(time.Millisecond))
}

var errSuspended = errors.New("rowlock was suspended")

// suspendTimeout is how long rowlock waits for its own writes to the store before it suspends itself.
const suspendTimeout = 5 * time.Second

// suspend suspends rowlock until the shell continues it, and reports whether the lease is then still trusted. It first
// waits until rowlock's own writes to the store are done. A process that is suspended inside a transaction would keep a
// SQLite file locked for all other processes. No TTL would end that lock of the file.
func (j *Job) suspend() (trusted bool) {
	<-j.Recorded
	ctx, cancel := context.WithTimeout(context.Background(), suspendTimeout)
	defer cancel()
	suspended := false
	// ReleaseWith calls this function between two renewals, so no renewal is in progress while the process is
	// suspended.
	_ = j.Lease.ReleaseWith(ctx, func(context.Context) error {
		suspended = true
		j.Signals.Suspend()
		return errSuspended // with an error, ReleaseWith keeps the lease
	})
	if !suspended { // the function did not run: the lease has ended, or a renewal takes too long
		j.Signals.Suspend()
	}
	return j.Lease.Err() == nil
}

// stop sends TERM to the group, and returns a channel that receives when KILL is due. A second call never delays the
// KILL. If no time is left, the method does not send TERM, because sending TERM also continues suspended processes. The
// suspended processes would then run without the lock.
func (j *Job) stop(grace time.Duration) (kill <-chan time.Time) {
	if at := time.Now().Add(grace); j.killAt.IsZero() || at.Before(j.killAt) {
		j.killAt, j.given = at, max(grace, 0)
	}
	if time.Until(j.killAt) > 0 {
		j.child.Terminate()
	}
	return time.After(time.Until(j.killAt))
}

// recordWait is how long a release waits until the start of the run has been recorded. A short command often ends while
// the record is being written. The connection of that write is then busy, and to open a second one would take longer
// than the write. The wait is short, because the store may not be able to write the record at all.
const recordWait = 10 * time.Millisecond

// release releases the lease after the whole group has ended, and returns the final exit code.
func (j *Job) release(code int) int {
	select {
	case <-j.Recorded:
	case <-time.After(recordWait):
	}
	if j.Lease.Tick() != "" && code == 0 && j.Outcome == Exited {
		return j.releaseDone()
	}
	err := j.Lease.Release(context.Background())
	switch {
	case err == nil || code == exit.Lost:
		return code
	case errors.Is(err, rowlock.ErrLost):
		return j.lostBefore(err, code)
	default:
		j.say(terminal.Warn, "not released", fmt.Sprintf("the command has ended, and its lock becomes free when the lease expires: %s", terminal.Plain(err)))
		return code
	}
}

// releaseDone ends the lease and records its tick, after the command has succeeded. It returns the final exit code. If
// the tick may not have been recorded, a later run may start the command again. Then the exit code is not 0.
func (j *Job) releaseDone() int {
	err := j.Lease.ReleaseDone(context.Background())
	switch {
	case err == nil:
		return exit.OK
	case errors.Is(err, rowlock.ErrLost):
		return j.lostBefore(err, exit.OK)
	default:
		j.say(terminal.Error, "not recorded", fmt.Sprintf("the command has succeeded, but tick %q may not be recorded as done, and then a later run starts the command again: %s", j.Lease.Tick(), terminal.Plain(err)))
		return exit.Unknown
	}
}

// lostBefore reports that the lease was lost before the command ended.
func (j *Job) lostBefore(err error, code int) int {
	j.say(terminal.Error, "lost", fmt.Sprintf("%s, before the command ended with exit code %d", terminal.Plain(err), code))
	j.Outcome = Lost
	return exit.Lost
}

func (j *Job) say(level slog.Level, event, sentence string) {
	j.Log.Say(level, event, sentence, j.attrs()...)
}

func (j *Job) attrs() []slog.Attr {
	key := driver.Key{Namespace: j.Lease.Namespace(), Name: j.Lease.Name()}
	return append(terminal.KeyAttrs(key, j.Lease.Token()), slog.String("holder", j.Lease.Holder()))
}

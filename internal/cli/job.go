package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

// job is a command that runs under a lease.
type job struct {
	log            *messages
	lease          *rowlock.Lease
	outer          outer           // what the lock is inside of the command
	recorded       <-chan struct{} // closed when the start of the run has been written down
	hideStore      bool
	child          *child
	signals        *signals
	terminal       terminal
	timeout, grace time.Duration
	graceWhenLost  time.Duration // and its end is when the lease ends, not when its loss was noticed
	killAt         time.Time     // zero while the group was not asked to end
	given          time.Duration // until then
	outcome        string        // of the run, once it has ended
}

// run starts the command, stays with it until nobody of its group is left, and releases.
func (j *job) run(path string, argv []string, std Stdio) (int, error) {
	j.signals.forwardStops() // before there is a command that shows that it runs
	child, err := startChild(path, argv, j.environment(std.Env), std)
	if err != nil {
		j.outcome = outcomeFailed
		_ = j.lease.Release(context.Background()) // its failure is not what went wrong
		return 0, err
	}
	j.child, j.outcome = child, outcomeExited
	code := j.supervise()
	j.terminal.takeBack()
	j.log.event("exited", append(j.attrs(), slog.Int("exit_code", code))...)
	return j.release(code), nil
}

// environment is that of the command.
func (j *job) environment(inherited environment) []string {
	if j.hideStore {
		inherited = inherited.without(variable("store"))
	}
	return inherited.under(j.lease, j.outer)
}

// supervise returns the exit code: the command's own, or why it was stopped.
func (j *job) supervise() int {
	var (
		code, stopped            int
		exited                   = j.child.exited
		lost                     = j.lease.Context().Done()
		timeout, leftovers, kill <-chan time.Time
	)
	if j.timeout > 0 {
		timeout = time.After(j.timeout)
	}
	for {
		select {
		case sig := <-j.signals.c:
			j.terminal.forward(j.child, sig)
		case sig := <-j.child.paused:
			j.terminal.childPaused(j.child, sig, j.suspend)
		case code = <-exited:
			exited, timeout = nil, nil
			if kill == nil {
				leftovers = time.After(j.grace)
			}
		case <-j.child.gone:
			if exited != nil {
				code = <-exited
			}
			if stopped != 0 {
				return stopped
			}
			return code
		case <-lost:
			lost, leftovers, stopped, j.outcome = nil, nil, exitLost, outcomeLost
			j.say(levelError, "lost", plain(j.lease.Err())+"; stopping the command")
			kill = j.stop(min(j.graceWhenLost, time.Until(j.lease.ExpiresAt().Add(j.graceWhenLost))))
		case <-timeout:
			if stopped == 0 {
				stopped, j.outcome = exitTimeout, outcomeTimeout
			}
			j.say(levelError, "timeout", fmt.Sprintf("stopping the command after %s", j.timeout))
			kill = j.stop(j.grace)
		case <-leftovers:
			j.say(levelWarn, "left over", "the command has ended and left processes behind; stopping them")
			kill = j.stop(j.grace)
		case <-kill:
			j.say(levelWarn, "killing", fmt.Sprintf("still running %s after TERM; killing", j.given.Round(time.Millisecond)))
			j.child.kill()
		}
	}
}

var errSuspended = errors.New("rowlock was suspended")

// suspend stops rowlock until it is continued, and says whether the lease is trusted then. It waits for what rowlock is
// writing, because a process that stops inside a transaction keeps a SQLite file locked for every other process, and no
// TTL ends that.
func (j *job) suspend() (trusted bool) {
	<-j.recorded
	ctx, cancel := context.WithTimeout(context.Background(), recordTimeout)
	defer cancel()
	suspended := false
	_ = j.lease.ReleaseWith(ctx, func(context.Context) error { // between two renewals
		suspended = true
		j.signals.suspend()
		return errSuspended // so the lease goes on
	})
	if !suspended { // the lease has ended, or the store does not answer
		j.signals.suspend()
	}
	return j.lease.Err() == nil
}

// stop asks the group to end, and returns when to kill it, which is no later than decided before. Without any time left
// it is not asked: a process that was stopped would be continued, and take a step without the lock.
func (j *job) stop(grace time.Duration) (kill <-chan time.Time) {
	if at := time.Now().Add(grace); j.killAt.IsZero() || at.Before(j.killAt) {
		j.killAt, j.given = at, max(grace, 0)
	}
	if time.Until(j.killAt) > 0 {
		j.child.terminate()
	}
	return time.After(time.Until(j.killAt))
}

// release ends the lease, after the whole group has, and returns the exit code that is left.
func (j *job) release(code int) int {
	err := j.lease.Release(context.Background())
	switch {
	case err == nil || code == exitLost:
		return code
	case errors.Is(err, rowlock.ErrLost):
		j.say(levelError, "lost", fmt.Sprintf("%s, before the command ended with exit code %d", plain(err), code))
		j.outcome = outcomeLost
		return exitLost
	default:
		j.say(levelWarn, "not released", fmt.Sprintf("the command has ended; its lock frees itself when its time is over: %s", plain(err)))
		return code
	}
}

func (j *job) say(level slog.Level, event, sentence string) {
	j.log.say(level, event, sentence, j.attrs()...)
}

func (j *job) attrs() []slog.Attr {
	key := driver.Key{Namespace: j.lease.Namespace(), Name: j.lease.Name()}
	return append(keyAttrs(key, j.lease.Token()), slog.String("holder", j.lease.Holder()))
}

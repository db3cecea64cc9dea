package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/child"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/history"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// run acquires the lock, runs the command, and releases the lock. It returns the exit code of the command,
// or an error with an exit code.
func (a *app) run(ctx context.Context, f runFlags, name string, argv []string) (int, error) {
	path, err := child.Find(argv[0])
	if err != nil {
		return 0, err
	}
	at, err := a.location()
	if err != nil {
		return 0, err
	}
	if err := at.CheckTimes(f.ttl, f.minHold, f.handover); err != nil {
		return 0, err
	}
	if f.holder == "" {
		f.holder = defaultHolder(argv[0])
	}
	if f.dryRun {
		return exit.OK, a.plan(ctx, f, name, path, argv)
	}
	sig := system.CatchSignals()
	if !a.std.Exits {
		defer sig.Release()
	}
	waitCtx, interrupted := sig.During(ctx)
	defer interrupted()
	s, err := a.openStore(waitCtx)
	if err != nil {
		if got := interrupted(); got != nil {
			return a.interrupted(got, name, commandNotStarted), nil
		}
		return 0, err
	}
	defer s.Close()
	if f.once != "" && !s.Backend.Capabilities().Ticks {
		return 0, exit.Usagef("--once: the store %s cannot record that a tick is done: keep the lock as a lease row (--store %s)", s.At.Shown, s.At.LeaseRows())
	}
	if f.shared && !s.Backend.Capabilities().Shares {
		return 0, exit.Usagef("--shared: the store %s grants no shared locks: keep the lock as a lease row (--store %s)", s.At.Shown, s.At.LeaseRows())
	}
	w := a.newWaiting(f.wait)
	names := f.names(name)
	if f.slots > 0 {
		if name == "" {
			return 0, exit.Usagef("the name of the lock is empty")
		}
		if err := checkName("NAME", name, driver.MaxName-len("/63")); err != nil {
			return 0, err
		}
		if err := job.Within(job.Outers(a.std.Env), s.Hash(), a.namespace, names); err != nil {
			return 0, err
		}
	}
	guard, closeData, err := a.guard(waitCtx, f, s)
	if err != nil {
		return 0, err
	}
	defer closeData()
	in := a.inside(waitCtx, s)
	defer in.end()
	opts := append(f.options(), rowlock.Namespace(a.namespace), rowlock.Tracing(a.trace(in.heldByOther(w))))
	locker, err := rowlock.New(s.Backend, opts...)
	if err != nil {
		return 0, exit.OfAcquire(err)
	}
	defer func() { _ = locker.Close() }() // an error of the release has been reported already

	processes := child.NewGuard()
	defer processes.End()
	if f.wait == 0 { // a run that waits does not keep a second process meanwhile
		processes.Prepare()
	}
	asked := time.Now()
	lease, err := f.acquire(in.wait, locker, names)
	w.End()
	var unsealed error
	if err == nil {
		unsealed = f.seal(waitCtx, guard, lease)
	}
	if got := interrupted(); got != nil {
		if lease != nil {
			_ = lease.Release(ctx)
		}
		return a.interrupted(got, name, commandNotStarted), nil
	}
	if err != nil {
		if cause := in.explains(err); cause != nil {
			return 0, cause
		}
		code, failure := a.refused(f, name, s.Explain(exit.OfAcquire(err)))
		history.Of(s).Refused(history.Record{Key: driver.Key{Namespace: a.namespace, Name: name}, Outcome: f.refusal(err), Code: code, Holder: f.holder, Note: f.note}, err)
		return code, failure
	}
	r := history.Record{Key: driver.Key{Namespace: a.namespace, Name: lease.Name()}, Token: lease.Token(), Holder: lease.Holder(), Note: f.note, Waited: time.Since(asked)}
	recorded, end := history.Of(s).Begin(r)
	var children *job.Children
	if unsealed == nil {
		children, unsealed = a.children(f, lease)
	}
	if err := unsealed; err != nil {
		_ = lease.Release(ctx) // ignored: the error says why the command does not start
		r.Outcome, r.Code = job.Failed, exit.Code(err)
		end(r)
		return 0, err
	}
	defer children.Close()
	j := &job.Job{Log: a.log, Lease: lease, Guard: processes, Children: children, Recorded: recorded, Outer: job.OuterOf(s.Hash(), lease), Slot: f.slot(name, lease), Signals: sig, Timeout: f.timeout, Grace: f.grace, GraceWhenLost: f.graceWhenLost()}
	std := a.std
	if f.hideStore {
		std.Env = std.Env.Without(variable("store"))
	}
	code, err := j.Run(path, argv, std)
	r.Outcome, r.Code = j.Outcome, code
	if err != nil {
		r.Code = exit.Code(err)
	}
	end(r)
	return code, err
}

// When a signal ends a wait, the message ends with one of these texts, which says what did not happen.
const (
	commandNotStarted = "the command was not started"
	lockNotPaused     = "the lock was not paused"
)

// interrupted writes a message which says that the signal sig has ended the wait. It returns the exit code.
func (a *app) interrupted(sig os.Signal, name, outcome string) int {
	a.log.Say(terminal.Notice, "interrupted", fmt.Sprintf("%s while waiting for %q: %s", sig, name, outcome),
		slog.String("namespace", a.namespace), slog.String("name", name))
	return exit.Signal + system.Number(sig)
}

// refused handles the error of an acquire. If another process holds the lock, or the tick is already done, refused
// writes a message, and returns an exit code. The code depends on --on-conflict and, for a held lock, on -E. It returns
// any other error unchanged.
func (a *app) refused(f runFlags, name string, err error) (int, error) {
	var held *rowlock.HeldError
	var attrs []slog.Attr
	switch exit.Code(err) {
	case exit.Held:
		errors.As(err, &held)
		attrs = terminal.HeldAttrs(held)
	case exit.Done:
		attrs = append(terminal.KeyAttrs(driver.Key{Namespace: a.namespace, Name: name}, 0), slog.String("tick", f.once))
	default:
		return 0, err
	}
	if f.onConflict == onConflictSkip {
		a.log.Say(terminal.Notice, "skipped", "skipped: "+terminal.Plain(err), attrs...)
		return exit.OK, nil
	}
	if held == nil {
		a.log.Say(terminal.Error, "done", terminal.Plain(err), append(attrs, slog.Int("exit_code", exit.Done))...)
		return exit.Done, nil
	}
	a.log.Say(terminal.Error, "held", terminal.Plain(err), append(attrs, slog.Int("exit_code", f.conflictCode))...)
	return f.conflictCode, nil
}

// trace returns a trace that writes messages about the lease: the important events as sentences for people,
// and all events for log collectors.
func (a *app) trace(heldByOther func(rowlock.HeldByOtherEvent)) *rowlock.Trace {
	return &rowlock.Trace{
		HeldByOther: heldByOther,
		Acquired: func(e rowlock.AcquiredEvent) {
			a.log.Event("acquired", append(terminal.LeaseAttrs(e.LeaseInfo), terminal.SecondsAttr("waited_seconds", e.Waited), slog.Int("attempts", e.Attempts))...)
		},
		RenewalFailed: func(e rowlock.RenewalFailedEvent) {
			level := terminal.Event
			if e.Failures == 1 { // only the first of several failures in a row writes a warning for people
				level = terminal.Warn
			}
			a.log.Say(level, "renewal failed", fmt.Sprintf("could not renew %q; if no renewal succeeds, the lock is lost in %s: %s", e.Name, e.Left.Round(time.Millisecond), terminal.Plain(e.Err)),
				append(terminal.LeaseAttrs(e.LeaseInfo), terminal.SecondsAttr("left_seconds", e.Left), slog.Int("failures", e.Failures))...)
		},
		Released: func(e rowlock.ReleasedEvent) {
			if e.Err == nil {
				a.log.Event("released", append(terminal.LeaseAttrs(e.LeaseInfo), terminal.SecondsAttr("held_seconds", e.Held))...)
			}
		},
	}
}

// defaultHolder returns COMMAND@host:pid. The pid is the process id of rowlock, so an operator knows which process to
// send a signal to.
func defaultHolder(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s@%s:%d", cut(filepath.Base(command)), cut(host), os.Getpid())
}

// cut shortens s, so that the text of the holder has at most 256 bytes.
func cut(s string) string {
	const longest = 100
	return strings.ToValidUTF8(s[:min(len(s), longest)], "?")
}

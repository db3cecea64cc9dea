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
)

// run acquires the lock, runs the command under it and releases. It returns the command's exit
// code, or an error that has one.
func (a *app) run(ctx context.Context, f runFlags, name string, argv []string) (int, error) {
	path, err := lookUp(argv[0])
	if err != nil {
		return 0, err
	}
	at, err := a.location()
	if err != nil {
		return 0, err
	}
	if err := at.checkOptions(f); err != nil {
		return 0, err
	}
	if f.holder == "" {
		f.holder = defaultHolder(argv[0])
	}
	if f.dryRun {
		return exitOK, a.plan(ctx, f, name, path, argv)
	}
	sig := catchSignals()
	defer sig.release()
	waitCtx, interrupted := sig.during(ctx)
	defer interrupted()
	s, err := a.openStore(waitCtx)
	if err != nil {
		if got := interrupted(); got != nil {
			return a.interrupted(got, name, commandNotStarted), nil
		}
		return 0, err
	}
	defer s.close()
	w := a.newWaiting(f.wait)
	waitCtx, giveUp := a.withoutItself(waitCtx, s, w)
	defer giveUp(nil)
	opts := append(f.options(), rowlock.Namespace(a.namespace), rowlock.Tracing(a.trace(w)))
	locker, err := rowlock.New(s.backend, opts...)
	if err != nil {
		return 0, acquireFailure(err)
	}
	defer func() { _ = locker.Close() }() // what it could not release was told of by then

	asked := time.Now()
	lease, err := locker.Acquire(waitCtx, name)
	w.end()
	if got := interrupted(); got != nil {
		if lease != nil {
			_ = lease.Release(ctx)
		}
		return a.interrupted(got, name, commandNotStarted), nil
	}
	key := driver.Key{Namespace: a.namespace, Name: name}
	if err != nil {
		if inside := w.forItself(waitCtx, err); inside != nil {
			return 0, inside
		}
		code, failure := a.refused(f, s.explain(acquireFailure(err)))
		s.recordRefusal(key, f, err, code)
		return code, failure
	}
	r := record{key: key, token: lease.Token(), holder: lease.Holder(), note: f.note, waited: time.Since(asked)}
	recorded, end := s.begin(r)
	j := &job{log: a.log, lease: lease, recorded: recorded, outer: s.outer(lease), hideStore: f.hideStore, signals: sig, timeout: f.timeout, grace: f.grace, graceWhenLost: f.graceWhenLost()}
	code, err := j.run(path, argv, a.std)
	r.outcome, r.code = j.outcome, code
	if err != nil {
		r.code = exitCode(err)
	}
	end(r)
	return code, err
}

// What a signal has kept from being done.
const (
	commandNotStarted = "the command was not started"
	lockNotPaused     = "the lock was not paused"
)

// interrupted is the end of a wait by a signal.
func (a *app) interrupted(sig os.Signal, name, outcome string) int {
	a.log.say(levelNotice, "interrupted", fmt.Sprintf("%s while waiting for %q: %s", sig, name, outcome),
		slog.String("namespace", a.namespace), slog.String("name", name))
	return exitSignal + number(sig)
}

// refused applies the conflict policy.
func (a *app) refused(f runFlags, err error) (int, error) {
	if exitCode(err) != exitHeld {
		return 0, err
	}
	var held *rowlock.HeldError
	errors.As(err, &held)
	attrs := heldAttrs(held)
	if f.onConflict == onConflictSkip {
		a.log.say(levelNotice, "skipped", "skipped: "+plain(err), attrs...)
		return exitOK, nil
	}
	a.log.say(levelError, "held", plain(err), append(attrs, slog.Int("exit_code", f.conflictCode))...)
	return f.conflictCode, nil
}

// trace tells of the lock what a person must know, and collectors all that changes.
func (a *app) trace(w *waiting) *rowlock.Trace {
	return &rowlock.Trace{
		HeldByOther: w.heldByOther,
		Acquired: func(e rowlock.AcquiredEvent) {
			a.log.event("acquired", append(leaseAttrs(e.LeaseInfo), seconds("waited_seconds", e.Waited), slog.Int("attempts", e.Attempts))...)
		},
		RenewalFailed: func(e rowlock.RenewalFailedEvent) {
			level := levelEvent
			if e.Failures == 1 { // and no line a try while the store is away
				level = levelWarn
			}
			a.log.say(level, "renewal failed", fmt.Sprintf("could not renew %q; it is lost in %s unless that succeeds: %s", e.Name, e.Left.Round(time.Millisecond), plain(e.Err)),
				append(leaseAttrs(e.LeaseInfo), seconds("left_seconds", e.Left), slog.Int("failures", e.Failures))...)
		},
		Released: func(e rowlock.ReleasedEvent) {
			if e.Err == nil {
				a.log.event("released", append(leaseAttrs(e.LeaseInfo), seconds("held_seconds", e.Held))...)
			}
		},
	}
}

func leaseAttrs(l rowlock.LeaseInfo) []slog.Attr {
	return append(keyAttrs(driver.Key{Namespace: l.Namespace, Name: l.Name}, l.Token), slog.String("holder", l.Holder))
}

func keyAttrs(key driver.Key, token rowlock.Token) []slog.Attr {
	return []slog.Attr{slog.String("namespace", key.Namespace), slog.String("name", key.Name), slog.Int64("token", int64(token))}
}

func heldAttrs(e *rowlock.HeldError) []slog.Attr {
	if e == nil {
		return nil
	}
	attrs := []slog.Attr{
		slog.String("namespace", e.Namespace), slog.String("name", e.Name), slog.String("reason", e.Reason.String()),
		slog.String("holder", e.Holder), slog.String("note", e.Note), slog.Int64("token", int64(e.Token)),
	}
	if !e.Since.IsZero() {
		attrs = append(attrs, slog.Time("since", e.Since))
	}
	if e.ExpiresIn > 0 {
		attrs = append(attrs, seconds("expires_in_seconds", e.ExpiresIn))
	}
	return append(attrs, seconds("waited_seconds", e.Waited))
}

func seconds(key string, d time.Duration) slog.Attr { return slog.Float64(key, inSeconds(d)) }

// defaultHolder is the command, and the host and process id of the rowlock that runs it: the
// process that a signal must be sent to.
func defaultHolder(command string) string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return fmt.Sprintf("%s@%s:%d", cut(filepath.Base(command)), cut(host), os.Getpid())
}

// cut is what s may take of the 256 bytes that a holder may have.
func cut(s string) string {
	const longest = 100
	return strings.ToValidUTF8(s[:min(len(s), longest)], "?")
}

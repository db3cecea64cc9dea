package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

// plan implements --dry-run: it prints what run would do now, and who holds the lock. It acquires no lock.
func (a *app) plan(ctx context.Context, f runFlags, name, path string, argv []string) error {
	if name == "" {
		return exit.Usagef("the name of the lock is empty")
	}
	if err := checkName("NAME", name, driver.MaxName); err != nil {
		return err
	}
	return a.withStore(ctx, func(ctx context.Context, s *store.Store) error {
		locker, err := rowlock.New(s.Backend, append(f.options(), rowlock.Namespace(a.namespace))...)
		if err != nil {
			return exit.OfAcquire(err)
		}
		defer func() { _ = locker.Close() }() // the locker holds no lock
		guard, closeGuard, err := a.guard(ctx, f, s)
		if err != nil {
			return err
		}
		defer closeGuard()
		var v view.Lock
		var status driver.Status
		var key driver.Key
		for _, name := range f.names(name) {
			key = driver.Key{Namespace: a.namespace, Name: name}
			status, err = s.Backend.Inspect(ctx, key)
			if err != nil {
				return exit.OfInspect(err, exit.Unavailable)
			}
			if v = view.Of(s, status); v.Available() {
				break
			}
		}
		words := make([]string, len(argv))
		for i, word := range argv {
			words[i] = terminal.Quoted(word)
		}
		words[0] = terminal.Quoted(path)
		tick := ""
		if f.once != "" {
			tick = fmt.Sprintf("tick:     %q; last done: %q\n", f.once, status.Done)
		}
		_, err = fmt.Fprintf(a.std.Out, "command:  %s\nlock:     %q\nstore:    %s\nexcludes: %s\nholder:   %s\ntimes:    %s\n%s%snow:      %s\nthen:     %s\n",
			strings.Join(words, " "), key.String(), s.At.Shown, s.At.Excludes(), terminal.Cell(f.holder), f.times(), tick, f.seals(guard), v.Sentence(), f.outlook(v.Available() || f.shared && v.Readers > 0, status.Done))
		if err != nil {
			return fmt.Errorf("write to stdout: %w", err)
		}
		return nil
	})
}

// seals is the line with the resources that run would seal. It is empty without --fence.
func (f *runFlags) seals(guard *guarded) string {
	if guard == nil {
		return ""
	}
	names := make([]string, len(f.fence))
	for i, name := range f.fence {
		names[i] = strconv.Quote(name)
	}
	return fmt.Sprintf("seals:    %s in %s\n", strings.Join(names, ", "), guard.in.At.Shown)
}

// times describes the TTL, and the other durations that are set.
func (f *runFlags) times() string {
	text := "a crash frees the lock within " + f.ttl.String()
	for _, of := range []struct {
		word string
		v    durationValue
	}{
		{"wait", durationValue{&f.wait, true}}, {"min-hold", durationValue{&f.minHold, false}}, {"max-hold", durationValue{&f.maxHold, false}},
		{"handover-delay", durationValue{&f.handover, false}}, {"timeout", durationValue{&f.timeout, false}}, {"grace", durationValue{&f.grace, false}},
	} {
		if v := of.v.String(); v != "" {
			text += ", " + of.word + " " + v
		}
	}
	if lost := f.graceWhenLost(); lost < f.grace {
		text += " (" + terminal.Span(lost) + " when the lock is lost)"
	}
	return text
}

// outlook describes what run would do now. The parameter free says whether the lock is free, or held
// by readers that a reader may join.
func (f *runFlags) outlook(free bool, done string) string {
	refused := fmt.Sprintf("exit with code %d", f.conflictCode)
	if f.onConflict == onConflictSkip {
		refused = "exit with code 0"
	}
	switch {
	case free && f.once != "" && rowlock.IsDone(done, f.once) && f.onConflict == onConflictSkip:
		return "exit with code 0, without starting the command"
	case free && f.once != "" && rowlock.IsDone(done, f.once):
		return fmt.Sprintf("exit with code %d, without starting the command", exit.Done)
	case free:
		return "the command would start"
	case f.wait == terminal.Forever:
		return "wait until the lock is free, and start the command"
	case f.wait > 0:
		return fmt.Sprintf("wait for up to %s, and start the command, or %s", f.wait, refused)
	default:
		return refused + ", without starting the command"
	}
}

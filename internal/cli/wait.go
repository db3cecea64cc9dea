package cli

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

func (a *app) waitCommand() *cobra.Command {
	limit, asJSON := terminal.Forever, false
	cmd := &cobra.Command{
		Use:   "wait [OPTIONS] NAME",
		Short: "Wait until a lock is free, without acquiring it",
		Long: `Waits until a lock is free, and exits with 0. It does not acquire the lock, so another process may already have
acquired it. To run a command under the lock, use "rowlock run --wait". After --timeout it exits with 75 and
says who holds the lock.

Redis notifies when a lock may be free. Other stores are polled, at least once a second. This command does not
delay processes that wait to acquire the lock.`,
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().Var(durationValue{&limit, true}, "timeout", "how long to wait: 0 is not at all, inf is without a limit")
	cmd.Flags().BoolVar(&asJSON, "json", false, "at the end, write the state of the lock as a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.openStore(cmd.Context())
		if err != nil {
			return err
		}
		defer s.Close()
		w := a.newWaiting(limit)
		v, err := a.awaitFree(cmd.Context(), s, driver.Key{Namespace: a.namespace, Name: args[0]}, limit, w)
		w.End()
		switch {
		case err != nil:
			return s.Explain(err)
		case !v.Available():
			a.code = exit.Held
		}
		if asJSON {
			return terminal.WriteJSON(a.std.Out, v)
		}
		if !v.Available() {
			a.log.Say(terminal.Error, "held", v.Sentence(), append(v.Attrs(), slog.Int("exit_code", exit.Held))...)
		}
		return nil
	}
	return cmd
}

// The delays between two requests of "rowlock wait", and how long the store may be unreachable during the wait.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
	patience  = time.Minute
)

// awaitFree waits until the lock is free or limit has passed, and returns the last state of the lock.
func (a *app) awaitFree(ctx context.Context, s *store.Store, key driver.Key, limit time.Duration, w *terminal.Waiting) (view.Lock, error) {
	began, heard, asked := time.Now(), time.Time{}, false
	woken, stop := wakeUps(ctx, s, key)
	defer stop()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		inner, cancel := context.WithTimeout(ctx, limits.inspect)
		status, err := s.Backend.Inspect(inner, key)
		cancel()
		left := limit - time.Since(began)
		if err != nil && (!asked || left <= 0 || driver.IsPermanent(err) || ctx.Err() != nil || time.Since(heard) > patience) {
			return view.Lock{}, exit.OfInspect(err, exit.Unavailable)
		}
		next := pause/2 + rand.N(pause)
		if err == nil {
			v := view.Of(s, status)
			if v.Available() || left <= 0 {
				return v, nil
			}
			if err := job.Itself(job.Outers(a.std.Env), s.Hash(), v.Held()); err != nil {
				return view.Lock{}, err
			}
			w.Refused(v.Sentence(), v.Attrs())
			heard, asked = time.Now(), true
			if status.FreeIn > 0 {
				next = min(next, status.FreeIn+time.Millisecond)
			}
		}
		timer := time.NewTimer(min(next, max(left, 0)))
		select {
		case <-timer.C:
		case <-woken:
		case <-ctx.Done():
		}
		timer.Stop()
	}
}

// wakeUps returns a channel that receives when key may be free. The channel is nil if the store does not notify every
// waiter. In SQL databases a release notifies only one waiter. If that waiter did not acquire the lock, the
// notification would be lost, so "rowlock wait" does not use it.
func wakeUps(ctx context.Context, s *store.Store, key driver.Key) (woken <-chan struct{}, stop func()) {
	n, tells := s.Backend.(driver.Notifier)
	if !tells || s.At.KeyValue == nil {
		return nil, func() {}
	}
	c := make(chan struct{}, 1)
	ctx, cancel := context.WithTimeout(ctx, store.ConnectTimeout)
	defer cancel()
	stop, err := n.Notify(ctx, key, func() {
		select {
		case c <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, func() {} // the next request reports the error
	}
	return c, stop
}

package cli

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
)

func (a *app) waitCommand() *cobra.Command {
	limit, asJSON := forever, false
	cmd := &cobra.Command{
		Use:   "wait [OPTIONS] NAME",
		Short: "Wait until a lock is free, without taking it",
		Long: `Waits until a lock is free, and exits with 0. It does not take the lock, so that somebody else may have
got it by then: to do something under the lock, use "rowlock run --wait". After --timeout it exits with 75 and
says who holds the lock.

Redis tells when a lock may be free; other stores are asked, once a second at the least. Whoever waits for
the lock to take it is not held up.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().Var(durationValue{&limit, true}, "timeout", "wait for so long, 0 for not at all, inf for ever")
	cmd.Flags().BoolVar(&asJSON, "json", false, "write the state of the lock at the end, a JSON object")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		s, err := a.openStore(cmd.Context())
		if err != nil {
			return err
		}
		defer s.close()
		w := a.newWaiting(limit)
		v, err := a.awaitFree(cmd.Context(), s, driver.Key{Namespace: a.namespace, Name: args[0]}, limit, w)
		w.end()
		switch {
		case err != nil:
			return s.explain(err)
		case !v.available():
			a.code = exitHeld
		}
		if asJSON {
			return writeJSON(a.std.Out, v)
		}
		if !v.available() {
			a.log.say(levelError, "held", v.sentence(), append(v.attrs(), slog.Int("exit_code", exitHeld))...)
		}
		return nil
	}
	return cmd
}

// Pauses between two questions of somebody who waits, and how long a store may be away meanwhile.
const (
	firstLook = 20 * time.Millisecond
	lastLook  = time.Second
	patience  = time.Minute
)

// awaitFree returns the state of the lock when it is free, or when limit is over.
func (a *app) awaitFree(ctx context.Context, s *store, key driver.Key, limit time.Duration, w *waiting) (lockView, error) {
	began, heard, asked := time.Now(), time.Time{}, false
	woken, stop := s.wakeUps(ctx, key)
	defer stop()
	for pause := firstLook; ; pause = min(2*pause, lastLook) {
		inner, cancel := context.WithTimeout(ctx, inspectTimeout)
		status, err := s.backend.Inspect(inner, key)
		cancel()
		left := limit - time.Since(began)
		if err != nil && (!asked || left <= 0 || driver.IsPermanent(err) || ctx.Err() != nil || time.Since(heard) > patience) {
			return lockView{}, inspectFailure(err, exitUnavailable)
		}
		next := pause/2 + rand.N(pause)
		if err == nil {
			v := s.view(status)
			if v.available() || left <= 0 {
				return v, nil
			}
			if err := s.itself(environment(a.std.Env).outerLocks(), v.held()); err != nil {
				return lockView{}, err
			}
			w.refused(v.sentence(), v.attrs())
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

// wakeUps tells when key may be free, where the store tells everybody. In SQL databases a release wakes one waiter,
// who then should take the lock.
func (s *store) wakeUps(ctx context.Context, key driver.Key) (woken <-chan struct{}, stop func()) {
	n, tells := s.backend.(driver.Notifier)
	if !tells || s.at.keyValue == nil {
		return nil, func() {}
	}
	c := make(chan struct{}, 1)
	ctx, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	stop, err := n.Notify(ctx, key, func() {
		select {
		case c <- struct{}{}:
		default:
		}
	})
	if err != nil {
		return nil, func() {} // asking does
	}
	return c, stop
}

// attrs is what collectors are told of a lock that is not free.
func (v lockView) attrs() []slog.Attr {
	return []slog.Attr{
		slog.String("namespace", v.Namespace), slog.String("name", v.Name), slog.String("state", v.State),
		slog.String("holder", v.Holder), slog.String("note", v.Note), slog.Int64("token", v.Token),
	}
}

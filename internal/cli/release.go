package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

func (a *app) releaseCommand() *cobra.Command {
	var token int64
	var live bool
	cmd := &cobra.Command{
		Use:   "release [OPTIONS] --token N NAME",
		Short: "Free a lock whose holder is gone",
		Long: `Frees a lock whose lease expired, or that is closed. A closed lock is not held, but no process can acquire it
yet, for example because of --min-hold. The value of --token is the token that ls and status show. If another
process has got the lock since then, the command changes nothing. The command raises the token, so that a fence
can reject the old holder.

Without --live the command does not end a lease that is alive. With --live the holder detects the loss at its
next renewal, and then "rowlock run" stops its command. Until then two processes may work at the same time. To
end a pause, use "rowlock resume".

For a session lock (mysql-getlock, postgres-advisory) --live ends the connection that holds the lock, and with it
every other lock of that connection. The holder detects the loss at once. If ls and status show no token, write
--token=0: then the lock of the present holder is released, whichever token it has.`,
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().Int64Var(&token, "token", 0, "the token that ls and status show")
	cmd.Flags().BoolVar(&live, "live", false, "end a lease even if it is alive")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		at, err := a.location()
		if err != nil {
			return err
		}
		if token < 0 || token == 0 && (at.Session == "" || !cmd.Flags().Changed("token")) {
			return exit.Usagef("--token is missing or not above 0: write the token that \"rowlock status %s\" shows", terminal.ShellQuoted(args[0]))
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			key := driver.Key{Namespace: a.namespace, Name: args[0]}
			err := spared(ctx, s, key, driver.Token(token), live)
			if err == nil {
				err = s.Backend.ForceRelease(ctx, key, driver.Token(token), live)
			}
			if err != nil {
				return a.notReleased(ctx, s, key, token, err)
			}
			a.log.Event("released", terminal.KeyAttrs(key, driver.Token(token))...)
			return nil
		})
	}
	return cmd
}

// spared returns an error if the lock is paused and --live was given. "rowlock release --live" ends a lease, but never
// a pause.
func spared(ctx context.Context, s *store.Store, key driver.Key, token driver.Token, live bool) error {
	if !live || !s.Backend.Capabilities().Pauses {
		return nil // without --live the store itself refuses to end a pause
	}
	now, err := s.Backend.Inspect(ctx, key)
	if err != nil || now.State != driver.StatePaused || now.Token != token {
		return nil // ignored: the release that follows reports the error
	}
	return &driver.Held{Reason: driver.Paused, Holder: now.Holder, Note: now.Note, Token: now.Token}
}

// notReleased returns an error that says why the lock was not released. It reads the present state of the lock from the
// store.
func (a *app) notReleased(ctx context.Context, s *store.Store, key driver.Key, token int64, err error) error {
	err = exit.OfInspect(err, exit.Unknown)
	name := fmt.Sprintf("%q", key.String())
	sentence := ""
	var held *driver.Held
	paused := errors.As(err, &held) && held.Reason == driver.Paused
	if code := exit.Code(err); code == exit.Held || code == exit.NotHeld {
		if now, err := s.Backend.Inspect(ctx, key); err == nil {
			sentence = ": " + view.Of(s, now).Sentence()
		}
	}
	switch exit.Code(err) {
	case exit.Held:
		if paused {
			return exit.Failf(exit.Held, "%s is not released, because it is paused%s; end that with: %s", name, sentence, s.Line("resume", key))
		}
		if s.At.Session != "" {
			return exit.Failf(exit.Held, "%s is not released, because its holder is connected; --live ends that connection%s", name, sentence)
		}
		return exit.Failf(exit.Held, "%s is not released, because its lease is alive; --live ends that lease%s", name, sentence)
	case exit.NotHeld:
		return exit.Failf(exit.NotHeld, "%s is not released, because nobody holds it with token %d%s", name, token, sentence)
	case exit.Unknown:
		return s.Look(key, exit.Failf(exit.Unknown, "release %s: the store did not answer, so the lock may or may not be released (%w)", name, errors.Unwrap(err)))
	default:
		return err
	}
}

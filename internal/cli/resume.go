package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
	"github.com/rowlock/rowlock/internal/cli/view"
)

func (a *app) resumeCommand() *cobra.Command {
	var token int64
	cmd := &cobra.Command{
		Use:   "resume [OPTIONS] NAME",
		Short: "End the pause of a lock",
		Long: `Ends the pause of a lock, so that a waiter gets the lock. If the lock is not paused, the command changes nothing.
With --token only the pause with that token ends, as ls and status show it. A newer pause stays.`,
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().Int64Var(&token, "token", 0, "end only the pause with this token (default any pause)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if token < 0 || token == 0 && cmd.Flags().Changed("token") {
			return exit.Usagef("--token=%d: must be above 0: write the token that \"rowlock status %s\" shows", token, terminal.ShellQuoted(args[0]))
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			if err := checkPauses(s); err != nil {
				return err
			}
			key := driver.Key{Namespace: a.namespace, Name: args[0]}
			locker, err := rowlock.New(s.Backend, rowlock.Namespace(a.namespace))
			if err != nil {
				return exit.OfAcquire(err)
			}
			defer func() { _ = locker.Close() }() // the locker holds no lock
			err = locker.Resume(ctx, key.Name, rowlock.Token(token))
			if err != nil {
				return notResumed(ctx, s, key, exit.OfPause(err))
			}
			a.log.Event("resumed", terminal.KeyAttrs(key, rowlock.Token(token))...)
			return nil
		})
	}
	return cmd
}

// notResumed returns an error with the present state of a lock that could not be resumed.
func notResumed(ctx context.Context, s *store.Store, key driver.Key, err error) error {
	if exit.Code(err) != exit.NotHeld {
		return s.Look(key, err)
	}
	sentence := ""
	if now, err := s.Backend.Inspect(ctx, key); err == nil {
		sentence = ": " + view.Of(s, now).Sentence()
	}
	return exit.Failf(exit.NotHeld, "%q is not resumed, because it is not paused, or not with that token%s", key.String(), sentence)
}

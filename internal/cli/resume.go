package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
)

func (a *app) resumeCommand() *cobra.Command {
	var token int64
	cmd := &cobra.Command{
		Use:   "resume [OPTIONS] NAME",
		Short: "End the pause of a lock",
		Long: `Ends the pause of a lock, so that whoever waits gets it. A lock that is not paused is left as it is,
whoever holds it. With --token only the pause is ended that has it, as ls and status show it, and none that
was made since.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().Int64Var(&token, "token", 0, "the token that was seen (default whichever it is)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if token < 0 || token == 0 && cmd.Flags().Changed("token") {
			return usage("--token=%d: must be above 0: write the one that \"rowlock status\" shows", token)
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store) error {
			if err := s.checkPauses(); err != nil {
				return err
			}
			key := driver.Key{Namespace: a.namespace, Name: args[0]}
			locker, err := rowlock.New(s.backend, rowlock.Namespace(a.namespace))
			if err != nil {
				return acquireFailure(err)
			}
			defer func() { _ = locker.Close() }() // it holds nothing
			err = locker.Resume(ctx, key.Name, rowlock.Token(token))
			if err != nil {
				return s.notResumed(ctx, key, pauseFailure(err))
			}
			a.log.event("resumed", keyAttrs(key, rowlock.Token(token))...)
			return nil
		})
	}
	return cmd
}

// notResumed says what the lock is instead.
func (s *store) notResumed(ctx context.Context, key driver.Key, err error) error {
	if exitCode(err) != exitNotHeld {
		return s.look(key, err)
	}
	sentence := ""
	if now, err := s.backend.Inspect(ctx, key); err == nil {
		sentence = ": " + s.view(now).sentence()
	}
	return fail(exitNotHeld, "%q is not resumed, because it is not paused, or not with that token%s", key.String(), sentence)
}

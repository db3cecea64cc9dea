package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"os/user"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

func (a *app) pauseCommand() *cobra.Command {
	f := runFlags{onConflict: onConflictWait, wait: terminal.Forever, ttl: pauseTTL}
	reason := ""
	cmd := &cobra.Command{
		Use:   "pause [OPTIONS] --reason TEXT NAME",
		Short: "Let no process acquire a lock until it is resumed",
		Long: `Closes a lock until "rowlock resume": no process gets the lock. A process that is refused the lock learns who
paused it, since when, and why. The store keeps the pause, so the pause survives a crash of this machine.

rowlock does not interrupt the present holder: it waits for the release, at most for --wait, and then pauses the
lock. With --wait=0 it does not wait, and exits with 75 if the lock is held.

Session locks (mysql-getlock, postgres-advisory) cannot be paused, because they end with a connection. Locks of
redlock cannot be paused, because its servers may forget a pause.`,
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().StringVar(&reason, "reason", "", "why the lock is paused, for people")
	cmd.Flags().Var(durationValue{&f.wait, true}, "wait", "how long to wait for the present holder: 0 is not at all, inf is without a limit")
	cmd.Flags().StringVar(&f.holder, "holder", "", "who pauses it, for people (default USER@host; $ROWLOCK_HOLDER, but not inside a run)")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if reason == "" {
			return exit.Usagef("--reason is missing: say why, for those who find the lock paused")
		}
		if f.holder == "" {
			f.holder = person(a.std.Env)
		}
		code, err := a.pause(cmd.Context(), f, args[0], reason)
		a.code = code
		return err
	}
	return cmd
}

// pauseTTL is the TTL of the lease that the command acquires before it pauses the lock. If the command dies before the
// pause is stored, the lock is free after this time.
const pauseTTL = defaultTTL

// pause waits until it acquires the lock, and then pauses the lock.
func (a *app) pause(ctx context.Context, f runFlags, name, reason string) (int, error) {
	sig := system.CatchSignals()
	defer sig.Release()
	ctx, interrupted := sig.During(ctx)
	defer interrupted()
	s, err := a.openStore(ctx)
	if err == nil {
		defer s.Close()
		err = checkPauses(s)
	}
	if err != nil {
		if got := interrupted(); got != nil {
			return a.interrupted(got, name, lockNotPaused), nil
		}
		return 0, err
	}
	w := a.newWaiting(f.wait)
	in := a.inside(ctx, s)
	defer in.end()
	locker, err := rowlock.New(s.Backend, append(f.options(), rowlock.Namespace(a.namespace), rowlock.Tracing(&rowlock.Trace{
		HeldByOther: in.heldByOther(w),
	}))...)
	if err != nil {
		return 0, exit.OfAcquire(err)
	}
	defer func() { _ = locker.Close() }() // no lock is held at this point
	token, err := locker.Pause(in.wait, name, reason)
	w.End()
	got := interrupted()
	switch {
	case err == nil:
		a.log.Event("paused", terminal.KeyAttrs(driver.Key{Namespace: a.namespace, Name: name}, token)...)
		return exit.OK, nil
	case got != nil && errors.Is(err, context.Canceled) && !errors.Is(err, rowlock.ErrUnknown):
		return a.interrupted(got, name, lockNotPaused), nil
	}
	if cause := in.explains(err); cause != nil {
		return 0, cause
	}
	return 0, s.Look(driver.Key{Namespace: a.namespace, Name: name}, s.Explain(exit.OfPause(err)))
}

// checkPauses returns a usage error if the store does not support pauses.
func checkPauses(s *store.Store) error {
	switch {
	case s.At.Session != "":
		return exit.Usagef("a lock of %s ends with its connection, so nothing can be paused: keep the lock as a lease row (--store %s)", s.At.Session, s.At.LeaseRows())
	case !s.Backend.Capabilities().Pauses:
		return exit.Usagef("the servers of this store may forget a pause, so nothing can be paused: keep the lock in one Redis, etcd or ZooKeeper, or as a lease row (--store postgres://…)")
	}
	return nil
}

// person returns USER@host for the user who runs the command.
func person(env system.Environment) string {
	name := cmp.Or(env.Get("USER"), env.Get("LOGNAME"), env.Get("USERNAME")) // cron sets LOGNAME, Windows sets USERNAME
	if u, err := user.Current(); name == "" && err == nil {
		name = u.Username
	}
	name = cmp.Or(name, "unknown-user")
	host, err := os.Hostname()
	if err != nil {
		host = "unknown-host"
	}
	return cut(name) + "@" + cut(host)
}

package cli

import (
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Conflict policies.
const (
	onConflictWait = "wait"
	onConflictSkip = "skip"
	onConflictFail = "fail"
)

// defaultTTL is the default TTL of the library.
const defaultTTL = 30 * time.Second

// runFlags are the options of run.
type runFlags struct {
	onConflict   string
	conflictCode int
	slots        int // the number of slots; zero: the lock has no slots
	holder, note string
	dryRun       bool
	hideStore    bool

	wait, ttl, minHold, maxHold, timeout, grace, handover time.Duration
}

const runHelp = `Runs COMMAND while holding the lock NAME, and exits with its exit code. Options may stand before or
after NAME; everything behind -- is the command, started as it is, without a shell. It gets stdin,
stdout and stderr untouched, and in its environment:

  ROWLOCK_NAME        the lock
  ROWLOCK_TOKEN       the fencing token: larger with each grant of the name
  ROWLOCK_HOLDER      the holder, as others see it
  ROWLOCK_EXPIRES_AT  until when the lock is certain at the start; it is renewed from then on
  ROWLOCK_SLOT        with --slots: the number of the slot, from 0
  ROWLOCK_LOCKS       all locks that it runs under: a lock inside itself is refused at once (exit code 64)

Each option but --dry-run has a variable, which counts where the option is not given: ROWLOCK_TTL for --ttl,
ROWLOCK_ON_CONFLICT for --on-conflict, ROWLOCK_CONFLICT_EXIT_CODE for -E. Variables are inherited by runs inside
of the command.

With --slots=N up to N commands run at a time. The slots of NAME are the locks NAME/0 to NAME/N-1, and the
command gets the first that is free. Every run of NAME needs the same --slots.

When the lock is held by somebody else, --on-conflict decides: fail (the default) exits with 75, skip
with 0, wait waits. --wait=DURATION waits for so long first, whatever the policy.

The command runs in a process group of its own. TERM, INT, HUP, QUIT, USR1 and USR2 are forwarded to
the group; while rowlock waits for the lock, the first four end the waiting (exit code 128+N), and
USR1 and USR2 do nothing. After --timeout the group gets TERM, and KILL after --grace. When the lock is
lost, it gets TERM so early that --grace, but a fifth of --ttl at most, is over before the lease ends. The lock is released only when nobody of the group is left: processes that the command
leaves behind are waited for as long as --grace, then get TERM, and KILL after another --grace.
A process that leaves the group (setsid) is not followed. When rowlock itself is killed with KILL, its
guard, a second process of rowlock, kills the group at once. A command that is suspended at its terminal
is not renewed for: if that takes longer than the lease, it is stopped when it goes on.

A lock is lost when no renewal succeeds for the TTL, less a tenth of it, less the time of --grace: with
--ttl=30s and --grace=10s that is 21 s, and the command has 6 s to end. For 10 s write --ttl=50s. The
command is dead before the lock is granted to another, unless an operator took the lock away.

A lock of a session (mysql-getlock, postgres-advisory) is lost as well when its connection ends, and is
free from then on: the time of --grace overlaps with the next holder then. When rowlock or its machine
dies, the lock is free as soon as the server notices; --ttl is how long the lock is trusted without an
answer. --min-hold and --handover-delay are refused there.`

func (a *app) runCommand() *cobra.Command {
	f := runFlags{onConflict: onConflictFail, conflictCode: exit.Held, ttl: defaultTTL, grace: 10 * time.Second}
	cmd := &cobra.Command{
		Use:                   "run [OPTIONS] NAME [OPTIONS] -- COMMAND [ARGUMENT]...",
		Short:                 "Run a command while holding a lock",
		Long:                  runHelp,
		DisableFlagsInUseLine: true,
	}
	flags := cmd.Flags()
	flags.Var(choiceValue{&f.onConflict, []string{onConflictWait, onConflictSkip, onConflictFail}}, "on-conflict", "what to do when the lock is held")
	flags.IntVarP(&f.conflictCode, "conflict-exit-code", "E", exit.Held, "the exit code when the lock is held")
	flags.IntVar(&f.slots, "slots", 0, "run up to so many commands at a time, each in a slot of its own")
	flags.Var(durationValue{&f.wait, true}, "wait", "how long to wait for the lock: 0 is not at all, inf is without a limit")
	flags.Var(durationValue{&f.ttl, false}, "ttl", "how soon a crash frees the lock")
	flags.Var(durationValue{&f.minHold, false}, "min-hold", "keep the lock closed so long from the start, without staying")
	flags.Var(durationValue{&f.maxHold, false}, "max-hold", "lose the lock, and stop the command, after so long")
	flags.Var(durationValue{&f.timeout, false}, "timeout", "stop the command so long after its start")
	flags.Var(durationValue{&f.grace, false}, "grace", "time between TERM and KILL; a fifth of --ttl at most when the lock is lost")
	flags.Var(durationValue{&f.handover, false}, "handover-delay", "keep the lock closed so long after it expired without release")
	flags.StringVar(&f.holder, "holder", "", "who holds the lock, for people (default COMMAND@host:pid; $ROWLOCK_HOLDER, but not inside a run)")
	flags.StringVar(&f.note, "note", "", "what for, for people ($ROWLOCK_NOTE)")
	flags.BoolVar(&f.hideStore, "hide-store", false, "keep ROWLOCK_STORE, and a password in it, from the command")
	flags.BoolVar(&f.dryRun, "dry-run", false, "say what would be done, and who has the lock; start nothing")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		a.hint = "rowlock run --help"
		return checkRunArgs(cmd.ArgsLenAtDash(), args)
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		waitGiven := cmd.Flags().Changed("wait") || a.std.Env.Get(variable("wait")) != ""
		if err := f.settle(waitGiven, cmd.Flags().Changed("conflict-exit-code")); err != nil {
			return err
		}
		code, err := a.run(cmd.Context(), f, args[0], args[1:])
		a.code = code
		return err
	}
	return cmd
}

// checkRunArgs requires NAME -- COMMAND. The parameter dash is how many arguments precede --, or -1 without --.
func checkRunArgs(dash int, args []string) error {
	switch {
	case dash < 0 && len(args) > 1:
		return exit.Usagef("put -- between the name of the lock and the command: rowlock run %s -- %s", terminal.ShellQuoted(args[0]), terminal.ShellQuoted(args[1]))
	case len(args) == 0 || dash == 0:
		return exit.Usagef("the name of the lock is missing: rowlock run NAME -- COMMAND")
	case dash < 0 || len(args) == dash:
		return exit.Usagef("the command is missing: rowlock run %s -- COMMAND", terminal.ShellQuoted(args[0]))
	case dash > 1:
		return exit.Usagef("one name before --, and not %d: %s is the second", dash, terminal.Quoted(args[1]))
	}
	return nil
}

// mostSlots is the largest number of locks that the library can wait for at a time.
const mostSlots = 64

// names returns the locks of which the command needs one.
func (f *runFlags) names(name string) []string {
	if f.slots == 0 {
		return []string{name}
	}
	return rowlock.Slots(name, f.slots)
}

// slot returns the number of the slot that the command holds. It returns an empty text without slots.
func (f *runFlags) slot(name string, lease *rowlock.Lease) string {
	if f.slots == 0 {
		return ""
	}
	return strings.TrimPrefix(lease.Name(), name+"/")
}

// settle combines options that depend on each other, and checks the combination.
func (f *runFlags) settle(waitGiven, codeGiven bool) error {
	switch {
	case f.conflictCode < 0 || f.conflictCode > 255:
		return exit.Usagef("-E %d: an exit code is from 0 to 255", f.conflictCode)
	case f.slots < 0 || f.slots > mostSlots:
		return exit.Usagef("--slots=%d: must be from 1 to %d, or 0 for a single lock", f.slots, mostSlots)
	case codeGiven && f.onConflict == onConflictSkip:
		return exit.Usagef("-E says how to fail, and --on-conflict=skip not to: leave one of them out")
	case f.onConflict == onConflictWait && !waitGiven:
		f.wait = terminal.Forever
	}
	return nil
}

// graceWhenLost is the time between TERM and KILL when the lock is lost. Trust in the lease ends that much earlier,
// so that the command is dead before the lease ends. A tenth of the TTL remains for clocks of different speed.
func (f *runFlags) graceWhenLost() time.Duration { return min(f.grace, f.ttl/5) }

// options returns the options for the library.
func (f *runFlags) options() []rowlock.Option {
	opts := []rowlock.Option{
		rowlock.TTL(f.ttl), rowlock.MinHold(f.minHold), rowlock.MaxHold(f.maxHold), rowlock.HandoverDelay(f.handover),
		rowlock.Holder(f.holder), rowlock.Note(f.note), rowlock.Margin(f.ttl/10 + f.graceWhenLost()),
	}
	if f.wait != terminal.Forever {
		opts = append(opts, rowlock.Wait(f.wait))
	}
	return opts
}

// refusal returns the outcome that history shows for a run that was refused the lock.
func (f *runFlags) refusal() string {
	if f.onConflict == onConflictSkip {
		return job.Skipped
	}
	return job.Held
}

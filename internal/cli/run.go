package cli

import (
	"context"
	"errors"
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

// defaultTTL is the default of --ttl, which equals the library's default.
const defaultTTL = 30 * time.Second

// runFlags contains the options of "rowlock run".
type runFlags struct {
	onConflict   string
	conflictCode int
	once         string        // the tick for which the command runs; empty: the command has no tick
	oncePer      time.Duration // the length of the ticks, from which the field once is computed; zero if not given
	slots        int           // the number of slots; zero if the lock has no slots
	holder, note string
	fence        []string // the resources to seal before the command starts
	data         string   // the database that has the marks of these resources; empty: the store
	shared       bool
	dryRun       bool
	hideStore    bool

	wait, ttl, minHold, maxHold, timeout, grace, handover time.Duration
}

const runHelp = `Runs COMMAND while holding the lock NAME, and exits with the exit code of COMMAND. Options may stand before or
after NAME. Everything after -- is the command, which is started without a shell. A name that begins with a dash stands
between two --: rowlock run -- -name -- COMMAND. The command gets rowlock's
stdin, stdout and stderr, and these environment variables:

  ROWLOCK_NAME        the name of the lock
  ROWLOCK_TOKEN       the fencing token: larger with each grant of the lock
  ROWLOCK_HOLDER      the holder, as other processes see it
  ROWLOCK_EXPIRES_AT  when the lease would end without a renewal, as known at the start; rowlock renews the lease
  ROWLOCK_SLOT        with --slots: the number of the slot, from 0
  ROWLOCK_TICK        with --once or --once-per: the tick
  ROWLOCK_LEASE       the lease, for rowlock.FromEnvironment of the Go library, rowlock check and rowlock sql check
  ROWLOCK_LOCKS       all locks under which the command runs; a "rowlock run" of one of them exits with code 64

Each option except --dry-run, --once, --once-per and --fence has an environment variable, which applies if the option is
not given: ROWLOCK_TTL for --ttl, ROWLOCK_ON_CONFLICT for --on-conflict, ROWLOCK_CONFLICT_EXIT_CODE for -E.
A "rowlock run" inside the command inherits these variables.

With --slots=N up to N commands run at the same time. The slots of NAME are the locks NAME/0 to NAME/N-1, and
the command gets the first slot that is free. Every run of NAME needs the same --slots.

With --shared the run is a reader. Several readers hold NAME at the same time, each with --shared. A run without
--shared is a writer: it waits for all readers, and later readers wait for it. All readers that hold NAME together
have the same token. The token is 0 on postgres-advisory. --shared cannot be combined with --once, --slots,
--min-hold and --handover-delay.

With --once=TICK the command runs only if no run has succeeded for that tick. TICK is a time such as 2026-11-23 or
2026-11-23T08:30, a number, or any text of up to 128 characters. The store keeps the last tick: an earlier time and a
smaller number count as done, but another text does not. With --once-per=DURATION the tick is the present time in
UTC, rounded down to a multiple of DURATION. A run succeeds if the command exits with 0. The release of the lock
records the tick, so a crash leaves the tick open. If the tick is done, the exit code is 80, or 0 if --on-conflict
is skip.

With --fence=RESOURCE,... the run seals the resources before the command starts: from then on, the database of the
data rejects the checked transactions of every earlier run. If that fails, the command does not start, and the exit
code is 69. The marks of the resources are in the database of --data, or in that of --store. A transaction of the
command is protected only if it checks: rowlock sql check, or package fence of the Go library.

If another process holds the lock, --on-conflict decides: fail (the default) exits with 75, skip exits with 0,
and wait waits. With --wait=DURATION rowlock waits for that time first, whatever --on-conflict is.

The command runs in its own process group. TERM, INT, HUP, QUIT, USR1 and USR2 are forwarded to the group.
While rowlock waits for the lock, TERM, INT, HUP and QUIT end the wait (exit code 128+N), and USR1 and USR2 do
nothing. After --timeout the group gets TERM, and KILL after --grace. When the lock is lost, the group gets TERM
so early that --grace, or a fifth of --ttl if that is shorter, is over before the lease ends.

rowlock releases the lock only when no process of the group is left. If the command leaves processes behind,
rowlock waits for them for --grace, then sends TERM, and sends KILL after another --grace. rowlock does not follow
a process that leaves the group (setsid). If rowlock itself is killed with KILL, a second process of rowlock, the
guard, kills the group at once. While the command is suspended at its terminal, rowlock does not renew the lease.
If the lease ends meanwhile, rowlock stops the command when it continues.

A lock is lost if no renewal succeeds for this time: the TTL, minus a tenth of the TTL, minus the time for
--grace. With --ttl=30s and --grace=10s this is 21 s, and the command has 6 s to end. To give it 10 s, write
--ttl=50s. The command is dead before the lock is granted to another process, unless an operator has released
the lock with --live.

A session lock (mysql-getlock, postgres-advisory) is also lost when its connection ends. It is free from then
on, so the next holder may already run during the time of --grace. When rowlock or its machine dies, the lock is
free as soon as the server notices. For such locks --ttl is how long rowlock trusts the lock without an answer
from the server. --min-hold and --handover-delay are refused.`

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
	flags.Var(textValue{&f.once}, "once", "run the command only if no run has succeeded for this tick, a text")
	flags.Var(lengthValue{durationValue{&f.oncePer, false}}, "once-per", "the same; the tick is the present time, rounded down to a multiple of this")
	flags.Var(countValue{&f.slots, mostSlots}, "slots", "run up to this many commands at a time, each in its own slot")
	flags.BoolVar(&f.shared, "shared", false, "share the lock with other runs that have --shared, and exclude only runs without --shared")
	flags.Var(durationValue{&f.wait, true}, "wait", "how long to wait for the lock: 0 is not at all, inf is without a limit")
	flags.Var(durationValue{&f.ttl, false}, "ttl", "how soon a crash frees the lock")
	flags.Var(durationValue{&f.minHold, false}, "min-hold", "grant the lock to nobody else for this long after its grant, even if the command has ended")
	flags.Var(lengthValue{durationValue{&f.maxHold, false}}, "max-hold", "lose the lock and stop the command after this time")
	flags.Var(lengthValue{durationValue{&f.timeout, false}}, "timeout", "stop the command this long after its start")
	flags.Var(durationValue{&f.grace, false}, "grace", "time between TERM and KILL; at most a fifth of --ttl when the lock is lost")
	flags.Var(durationValue{&f.handover, false}, "handover-delay", "grant the lock to nobody for this long after it expired without release")
	flags.StringVar(&f.holder, "holder", "", "who holds the lock, for people (default COMMAND@host:pid; $ROWLOCK_HOLDER, but not inside a run)")
	flags.StringVar(&f.note, "note", "", "why the lock is held, for people ($ROWLOCK_NOTE)")
	flags.StringSliceVar(&f.fence, "fence", nil, "seal these resources before the command starts, separated by commas")
	flags.Var(textValue{&f.data}, "data", "with --fence: "+dataUsage)
	flags.BoolVar(&f.hideStore, "hide-store", false, "remove ROWLOCK_STORE, which may contain a password, from the environment of the command")
	flags.BoolVar(&f.dryRun, "dry-run", false, "only say what would be done, and who holds the lock")
	cmd.Args = func(cmd *cobra.Command, args []string) error {
		a.hint = "rowlock run --help"
		_, _, err := runArgs(cmd.ArgsLenAtDash(), args)
		return err
	}
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		name, argv, err := runArgs(cmd.ArgsLenAtDash(), args)
		if err != nil {
			return err
		}
		waitGiven := cmd.Flags().Changed("wait") || a.std.Env.Get(variable("wait")) != ""
		if cmd.Flags().Changed("fence") && len(f.fence) == 0 {
			return exit.Usagef("--fence: name the resources to seal, for example --fence=%s", name)
		}
		if err := f.settle(waitGiven, cmd.Flags().Changed("conflict-exit-code")); err != nil {
			return err
		}
		code, err := a.run(cmd.Context(), f, name, argv)
		a.code = code
		return err
	}
	return cmd
}

// runArgs splits the arguments NAME -- COMMAND. A name that begins with a dash stands between two --. The parameter dash is
// the number of arguments before the first --, or -1 without --.
func runArgs(dash int, args []string) (name string, argv []string, err error) {
	switch {
	case dash == 0 && len(args) > 2 && strings.HasPrefix(args[0], "-") && args[1] == "--":
		return args[0], args[2:], nil
	case dash < 0 && len(args) > 1:
		return "", nil, exit.Usagef("put -- between the name of the lock and the command: rowlock run %s -- %s", terminal.ShellQuoted(args[0]), terminal.ShellQuoted(args[1]))
	case len(args) == 0 || dash == 0:
		return "", nil, exit.Usagef("the name of the lock is missing: rowlock run NAME -- COMMAND")
	case dash < 0 || len(args) == dash:
		return "", nil, exit.Usagef("the command is missing: rowlock run %s -- COMMAND", terminal.ShellQuoted(args[0]))
	case dash > 1:
		return "", nil, exit.Usagef("want one name before --, but %d were given: %s is the second", dash, terminal.Quoted(args[1]))
	}
	return args[0], args[1:], nil
}

// mostSlots is the largest value of --slots. One call of the library can wait for at most this many locks.
const mostSlots = 64

// names returns the names of the slots, or only the name itself if the lock has no slots. The command needs only one of
// these locks.
func (f *runFlags) names(name string) []string {
	if f.slots == 0 {
		return []string{name}
	}
	return rowlock.Slots(name, f.slots)
}

// slot returns the number of the slot that the command holds, or an empty text if the lock has no slots.
func (f *runFlags) slot(name string, lease *rowlock.Lease) string {
	if f.slots == 0 {
		return ""
	}
	return strings.TrimPrefix(lease.Name(), name+"/")
}

// settle sets options that depend on other options, and returns a usage error for options that contradict each other.
func (f *runFlags) settle(waitGiven, codeGiven bool) error {
	switch {
	case f.conflictCode < 0 || f.conflictCode > 255:
		return exit.Usagef("-E %d: an exit code is from 0 to 255", f.conflictCode)
	case f.oncePer > 0 && f.once != "":
		return exit.Usagef("--once names a tick, and --once-per computes one: leave one of them out")
	case f.slots > 0 && (f.once != "" || f.oncePer > 0):
		return exit.Usagef("--once and --once-per need a single lock, and --slots has several: leave one of them out")
	case f.slots > 0 && f.shared:
		return exit.Usagef("--shared lets any number of readers hold one lock, and --slots limits the number: leave one of them out")
	case f.shared && (f.once != "" || f.oncePer > 0):
		return exit.Usagef("--once and --once-per need the lock alone, and --shared shares it: leave one of them out")
	case codeGiven && f.onConflict == onConflictSkip:
		return exit.Usagef("-E sets an exit code for a held lock, and --on-conflict=skip exits with 0: leave one of them out")
	case f.onConflict == onConflictWait && !waitGiven:
		f.wait = terminal.Forever
	}
	if err := checkResources("--fence", f.fence); err != nil {
		return err
	}
	if f.oncePer > 0 {
		f.once = rowlock.TickOf(time.Now(), f.oncePer)
	}
	return nil
}

// graceWhenLost returns the time between TERM and KILL when the lock is lost. The margin of the lease is this time plus
// a tenth of the TTL. So the command is killed before the lease ends, even if the clocks run at slightly different
// speeds.
func (f *runFlags) graceWhenLost() time.Duration { return min(f.grace, f.ttl/5) }

// options returns the options for the library's Acquire.
func (f *runFlags) options() []rowlock.Option {
	opts := []rowlock.Option{
		rowlock.TTL(f.ttl), rowlock.MinHold(f.minHold), rowlock.MaxHold(f.maxHold), rowlock.HandoverDelay(f.handover),
		rowlock.Holder(f.holder), rowlock.Note(f.note), rowlock.Margin(f.ttl/10 + f.graceWhenLost()),
	}
	if f.shared {
		opts = append(opts, rowlock.Shared())
	}
	if f.wait != terminal.Forever {
		opts = append(opts, rowlock.Wait(f.wait))
	}
	return opts
}

// refusal returns the outcome that the history records if the run was refused with err.
func (f *runFlags) refusal(err error) string {
	switch {
	case f.onConflict == onConflictSkip:
		return job.Skipped
	case errors.Is(err, rowlock.ErrDone):
		return job.Done
	default:
		return job.Held
	}
}

// acquire acquires one of the locks with these names. If the run has a tick, there is only one name.
func (f *runFlags) acquire(ctx context.Context, locker *rowlock.Locker, names []string) (*rowlock.Lease, error) {
	if f.once != "" {
		return locker.AcquireOnce(ctx, names[0], f.once)
	}
	return locker.AcquireAny(ctx, names)
}

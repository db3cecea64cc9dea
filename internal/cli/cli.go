// Package cli implements the command rowlock. The command runs other commands while it holds a lock,
// and shows and repairs locks and their tables. This package contains the subcommands and their flags:
// one file for each subcommand or group of subcommands. cli.go contains the root command, and app.go contains functions
// that the subcommands share. The subpackages are:
//
//	store     a URL becomes a backend
//	job       a command under a lease
//	child     a process group, its guard (child/guard) and the terminal
//	history   what became of runs
//	view      how locks are shown
//	doctor    what is wrong with a store
//	demo      what a fence is for
//	terminal  texts, durations, tables, JSON and messages
//	system    files, variables and signals
//	exit      exit codes, and errors that have one
package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/system"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// Main runs the command with args, which do not include the program's name, and returns the exit code.
// If ctx ends while the command waits for a lock, the wait ends. Main itself sets no time limit.
func Main(ctx context.Context, args []string, std system.Stdio) int {
	a := &app{std: std, format: terminal.FormatText}
	a.log = terminal.NewMessages(std.Err, terminal.FormatText, false) // for messages that are written before the flags are parsed
	root := a.rootCommand()
	if len(args) > 0 && slices.Contains([]string{cobra.ShellCompRequestCmd, cobra.ShellCompNoDescRequestCmd}, args[0]) {
		completeWords(root)
	}
	root.SetArgs(args)
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	err := root.ExecuteContext(ctx)
	if err != nil {
		err = asUsage(err, a.started)
		if !a.started {
			a.log = terminal.NewMessages(std.Err, a.format, a.quiet) // with the format and the option --quiet from the flags
		}
		a.log.Fail(err)
		if exit.Code(err) == exit.Usage && !a.started {
			a.log.Say(terminal.Notice, "hint", "for help: "+a.hint)
		}
		return exit.Code(err)
	}
	return a.code
}

func (a *app) rootCommand() *cobra.Command {
	a.hint = "rowlock --help"
	var showVersion bool
	root := &cobra.Command{
		Use:   "rowlock",
		Short: "Distributed locks in the database you already have",
		Long: `Distributed locks in the database you already have.

  rowlock run nightly -- ./report.sh

runs ./report.sh on one machine at a time. By default the lock is a row in a SQLite file of your user
(--store=local), which excludes only processes of this user on this machine. With --store the row is in
Postgres, MySQL or MariaDB.
With postgres-advisory://… and mysql-getlock://… the lock is in the memory of that server instead: an
advisory lock or GET_LOCK of a connection. Such a lock is free as soon as its holder dies, and is not replicated.

Stores without tables need no "rowlock migrate":

  redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]    one Redis or Valkey
  redis+cluster://HOST[:PORT],HOST[:PORT]           a Redis Cluster, with the addresses of some of its servers
  redlock://HOST[:PORT],HOST[:PORT],HOST[:PORT]     a majority of independent Redis servers
  etcd://HOST[:PORT],HOST[:PORT]                    etcd
  zk://HOST[:PORT],HOST[:PORT][/ROOT]               ZooKeeper

rediss, rediss+cluster, redlocks, etcds and zks are the same stores with TLS. Options follow after a ?, and
are separated by &. For TLS: ca=FILE, cert=FILE, key=FILE (PEM) and server_name=NAME. For the prefix of all
keys: prefix=TEXT (not zk). For redis: allow_eviction=true, and replicas=N&replica_wait=DURATION, with which
replicas confirm each grant. For redlock: max_ttl=DURATION and node_timeout=DURATION.
Other users of the machine can see a password in --store. They cannot see a password in ROWLOCK_STORE.`,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRunE: func(cmd *cobra.Command, _ []string) error {
			if err := fromEnvironment(cmd.Flags(), a.std.Env, withVariables(cmd)...); err != nil {
				return err
			}
			if err := checkName("--namespace", a.namespace, driver.MaxNamespace); err != nil {
				return err
			}
			a.log = terminal.NewMessages(a.std.Err, a.format, a.quiet)
			a.started = true
			return nil
		},
		RunE: func(*cobra.Command, []string) error {
			if showVersion {
				return a.printVersion()
			}
			return exit.Usagef("say what to do: run, ls, status, wait, release, pause, resume, history, doctor, prune, fence, check, sql, migrate, demo, locktest, completion, man or version")
		},
	}
	root.Flags().BoolVarP(&showVersion, "version", "v", false, "version for rowlock")
	root.SetUsageFunc(usage)
	root.CompletionOptions.DisableDefaultCmd = true
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		a.hint = cmd.CommandPath() + " --help"
		return flagError(err)
	})
	flags := root.PersistentFlags()
	flags.Var(textValue{&a.store}, "store", "local, sqlite:PATH, postgres://…, mysql://…, USER@tcp(HOST)/DATABASE, postgres-advisory://…, mysql-getlock://…, redis://…, redis+cluster://…, redlock://…, etcd://… or zk://… ($ROWLOCK_STORE)")
	flags.StringVar(&a.namespace, "namespace", "", "the namespace: the same name in two namespaces is two locks ($ROWLOCK_NAMESPACE)")
	flags.StringVar(&a.table, "table", "rowlock_lease", "the lock table, TABLE or SCHEMA.TABLE ($ROWLOCK_TABLE)")
	flags.Var(choiceValue{&a.format, []string{terminal.FormatText, terminal.FormatJSON}}, "log-format", "the format of messages on stderr ($ROWLOCK_LOG_FORMAT)")
	flags.BoolVarP(&a.quiet, "quiet", "q", false, "write only error messages ($ROWLOCK_QUIET)")
	root.AddCommand(a.runCommand(), a.lsCommand(), a.statusCommand(), a.waitCommand(), a.releaseCommand(), a.pauseCommand(), a.resumeCommand(), a.historyCommand(), a.doctorCommand(), a.pruneCommand(), a.fenceCommand(), a.checkCommand(), a.sqlCommand(), a.migrateCommand(), a.demoCommand(), a.locktestCommand(), a.completionCommand(), a.manCommand(), a.versionCommand(), exitCodesTopic())
	refuseUnknownHelp(root)
	return root
}

// asUsage turns an error of cobra into a usage error. The parameter started says whether the code of a subcommand has
// started. If it has not, the error comes from cobra.
func asUsage(err error, started bool) error {
	if !started && exit.Code(err) == exit.Internal {
		what, like, found := strings.Cut(err.Error(), "\n\nDid you mean this?\n")
		if found {
			return exit.Usagef("%s; did you mean %s?", what, strings.Join(strings.Fields(like), " or "))
		}
		return exit.With(exit.Usage, err)
	}
	return err
}

// seeExitCodes is the last line in the help of every subcommand.
const seeExitCodes = `What each exit code means: rowlock help exit-codes`

// usage writes the usage of a subcommand, as cobra writes it, and a last line about the exit codes. It is a function and
// not a template of cobra, because the linker must keep every exported method of a program that uses text/template.
func usage(cmd *cobra.Command) error {
	standard := new(cobra.Command).UsageFunc()
	if err := standard(cmd); err != nil {
		return err
	}
	_, err := fmt.Fprintln(cmd.OutOrStderr(), seeExitCodes)
	return err
}

// exitCodesTopic returns the help topic that "rowlock help exit-codes" prints.
func exitCodesTopic() *cobra.Command {
	topic := &cobra.Command{
		Use:   "exit-codes",
		Short: "What each exit code means",
		Long:  "Every command exits with one of these codes. rowlock run exits with the code of the command that it ran.\n\n" + exit.Table(),
	}
	topic.SetHelpFunc(func(cmd *cobra.Command, _ []string) { _, _ = fmt.Fprintln(cmd.OutOrStdout(), cmd.Long) })
	return topic
}

// refuseUnknownHelp makes "rowlock help" return a usage error for an unknown subcommand. cobra itself reports no error
// for an unknown subcommand.
func refuseUnknownHelp(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	for _, help := range root.Commands() {
		if help.Name() == "help" {
			help.Args = func(_ *cobra.Command, args []string) error {
				if _, rest, err := root.Find(args); err != nil || len(rest) > 0 {
					return exit.Usagef("there is no command %q", strings.Join(args, " "))
				}
				return nil
			}
		}
	}
}

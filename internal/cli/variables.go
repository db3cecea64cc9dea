package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/system"
)

// globalFlags are those of every command; each has a variable.
var globalFlags = []string{"store", "namespace", "table", "log-format", "quiet"}

// withVariables are the flags that also have a variable: the global ones, and all of run, by which a job is set up, but
// the one that keeps it from running. What an operator does once, such as release --token, has none.
func withVariables(cmd *cobra.Command) []string {
	names := slices.Clone(globalFlags)
	if cmd.Name() != "run" {
		return names
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if f.Name != "dry-run" && f.Name != "help" {
			names = append(names, f.Name)
		}
	})
	return names
}

// variable is the environment form of a flag: --log-format is ROWLOCK_LOG_FORMAT.
func variable(flag string) string {
	return "ROWLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets those of the named flags that were not given from their variables. It runs
// after the command line was read, so that a store's password never becomes a default in the help.
func fromEnvironment(flags *pflag.FlagSet, env system.Environment, names ...string) error {
	for _, name := range names {
		f := flags.Lookup(name)
		value := env.Get(variable(name))
		if f == nil || f.Changed || value == "" || variable(name) == job.EnvHolder && job.Nested(env) {
			continue // inside a run, ROWLOCK_HOLDER is who holds the outer lock
		}
		if err := f.Value.Set(value); err != nil {
			return exit.Usagef("%s=%s: %w", variable(name), value, inWords(err))
		}
	}
	return nil
}

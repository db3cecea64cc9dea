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

// globalFlags are the flags of every command. Each has a variable.
var globalFlags = []string{"store", "namespace", "table", "log-format", "quiet"}

// withVariables returns the flags that also have a variable: the global flags, and the flags of run, with which a job
// is configured. --dry-run has none, because it would keep the job from running. An option for a single action of an
// operator, such as release --token, has none either.
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

// variable returns the environment variable of a flag: --log-format has ROWLOCK_LOG_FORMAT.
func variable(flag string) string {
	return "ROWLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets the named flags from their variables, unless the command line set them. It runs after the
// command line was read, so that a store's password never appears as a default in the help.
func fromEnvironment(flags *pflag.FlagSet, env system.Environment, names ...string) error {
	for _, name := range names {
		f := flags.Lookup(name)
		value := env.Get(variable(name))
		if f == nil || f.Changed || value == "" || variable(name) == job.EnvHolder && job.Nested(env) {
			continue // inside a run, ROWLOCK_HOLDER names the holder of the outer lock
		}
		if err := f.Value.Set(value); err != nil {
			return exit.Usagef("%s=%s: %w", variable(name), value, inWords(err))
		}
	}
	return nil
}

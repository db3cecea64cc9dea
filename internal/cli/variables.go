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

// globalFlags lists the flags that every subcommand has. Each of them has an environment variable.
var globalFlags = []string{"store", "namespace", "table", "log-format", "quiet"}

// withoutVariable contains the options of run that have no environment variable. A "rowlock run" inside the command
// would inherit a variable such as ROWLOCK_DRY_RUN, and would silently not run its own command. With an inherited
// ROWLOCK_FENCE it would seal the resources of the outer run for its own lock.
var withoutVariable = map[string]bool{"help": true, "dry-run": true, "once": true, "once-per": true, "fence": true}

// withVariables returns the names of cmd's flags that have an environment variable. Every global flag has one, and so
// has --data. The flags of run have one, because they configure a job, except for the flags in withoutVariable. Options for a single
// action of an operator, such as release --token, have no variable either.
func withVariables(cmd *cobra.Command) []string {
	names := append(slices.Clone(globalFlags), "data")
	if cmd.Name() != "run" {
		return names
	}
	cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
		if !withoutVariable[f.Name] && f.Name != "data" {
			names = append(names, f.Name)
		}
	})
	return names
}

// variable returns the name of a flag's environment variable. For log-format it is ROWLOCK_LOG_FORMAT.
func variable(flag string) string {
	return "ROWLOCK_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// fromEnvironment sets flags from their environment variables, unless the command line has set them. The parameter
// names lists these flags. A variable that is set, but empty, is an empty value: an error for most flags, because a
// script or a unit has probably not set what it wanted to. It runs after the command line was parsed, so that a store's password never appears as a
// default in the help.
func fromEnvironment(flags *pflag.FlagSet, env system.Environment, names ...string) error {
	for _, name := range names {
		f := flags.Lookup(name)
		value, set := env.LookUp(variable(name))
		if f == nil || f.Changed || !set || variable(name) == job.EnvHolder && job.Nested(env) {
			continue // an outer "rowlock run" has set ROWLOCK_HOLDER to the holder of its own lock
		}
		if err := f.Value.Set(value); err != nil {
			return exit.Usagef("%s=%s: %w", variable(name), value, inWords(err))
		}
	}
	return nil
}

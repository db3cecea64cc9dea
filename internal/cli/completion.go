package cli

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

// shells lists the shells for which completion is available.
var shells = []string{"bash", "zsh", "fish", "powershell"}

func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Write a completion script for a shell",
		Long: `Writes a script with which a shell completes commands, options, and values that are one of a few words:

  source <(rowlock completion bash)                       in ~/.bashrc; needs bash-completion
  source <(rowlock completion zsh)                        in ~/.zshrc, after compinit
  rowlock completion fish | source                        in ~/.config/fish/config.fish
  rowlock completion powershell | Out-String | Invoke-Expression`,
		DisableFlagsInUseLine: true,
		ValidArgs:             shells,
		Args: func(cmd *cobra.Command, args []string) error {
			a.hint = cmd.CommandPath() + " --help"
			if len(args) != 1 || !slices.Contains(shells, args[0]) {
				return exit.Usagef("say for which shell: rowlock completion bash, zsh, fish or powershell")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			root := cmd.Root()
			write := map[string]func(io.Writer) error{
				"bash":       func(w io.Writer) error { return root.GenBashCompletionV2(w, true) },
				"zsh":        root.GenZshCompletion,
				"fish":       func(w io.Writer) error { return root.GenFishCompletion(w, true) },
				"powershell": root.GenPowerShellCompletionWithDesc,
			}[args[0]]
			if err := write(a.std.Out); err != nil {
				return fmt.Errorf("write to stdout: %w", err)
			}
			return nil
		},
	}
}

// completeWords completes option values that are one of a few words. For other options and arguments it disables the
// completion with file names.
func completeWords(root *cobra.Command) {
	each := func(cmd *cobra.Command) {
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			values := cobra.NoFileCompletions
			if choice, ok := f.Value.(choiceValue); ok {
				values = cobra.FixedCompletions(choice.choices, cobra.ShellCompDirectiveNoFileComp)
			}
			if f.Value.Type() != "bool" {
				_ = cmd.RegisterFlagCompletionFunc(f.Name, values) // ignores the error for a flag whose completion is already registered
			}
		})
	}
	each(root)
	for _, cmd := range subcommands(root) {
		each(cmd)
		if cmd.Name() != "run" && cmd.ValidArgsFunction == nil && len(cmd.ValidArgs) == 0 {
			// The arguments of these subcommands are not file names. Only the arguments of run contain a command, so
			// they may be completed with file names.
			cmd.ValidArgsFunction = cobra.NoFileCompletions
		}
	}
}

// subcommands returns all subcommands of cmd at every level, each before its own subcommands. It omits the help topics.
func subcommands(cmd *cobra.Command) (all []*cobra.Command) {
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && !sub.Hidden && !sub.IsAdditionalHelpTopicCommand() {
			all = append(append(all, sub), subcommands(sub)...)
		}
	}
	return all
}

package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/internal/cli/exit"
)

func (a *app) manCommand() *cobra.Command {
	return &cobra.Command{
		Use: "man", Short: "Write the manual page", Args: a.noArgs,
		Long: `Writes the manual page, made from the help of all commands, in the form of man(7):

  rowlock man >/usr/local/share/man/man1/rowlock.1
  rowlock man | man -l -`,
		DisableFlagsInUseLine: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, err := io.WriteString(a.std.Out, manual(cmd.Root())); err != nil {
				return fmt.Errorf("write to stdout: %w", err)
			}
			return nil
		},
	}
}

// manual returns the manual page in roff. The page contains the help texts unchanged, with their line breaks.
func manual(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(".TH ROWLOCK 1\n.SH NAME\n")
	fmt.Fprintf(&b, "rowlock \\- %s\n", roff(strings.ToLower(root.Short[:1])+root.Short[1:]))
	b.WriteString(".SH SYNOPSIS\n")
	for _, cmd := range subcommands(root) {
		if cmd.HasSubCommands() && cmd.Name() != "demo" {
			continue // the page lists only its subcommands
		}
		fmt.Fprintf(&b, ".br\n.B %s\n", roff(usageLine(cmd)))
	}
	b.WriteString(".SH DESCRIPTION\n")
	verbatim(&b, root.Long)
	b.WriteString(".SH OPTIONS OF EVERY COMMAND\n")
	options(&b, root.PersistentFlags())
	for _, cmd := range subcommands(root) {
		fmt.Fprintf(&b, ".SH %s\n.B %s\n.PP\n", roff(strings.ToUpper(cmd.CommandPath())), roff(usageLine(cmd)))
		long := cmd.Long
		if long == "" {
			long = cmd.Short + "."
		}
		verbatim(&b, long)
		options(&b, cmd.LocalNonPersistentFlags())
	}
	b.WriteString(".SH EXIT STATUS\n")
	for _, c := range exit.Codes {
		fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(c.Code), roff(c.Meaning))
	}
	return b.String()
}

// usageLine returns the usage line of a command, beginning with the program's name.
func usageLine(cmd *cobra.Command) string {
	path := cmd.CommandPath()
	return strings.TrimSuffix(path, cmd.Name()) + cmd.Use
}

// verbatim writes a text as roff that keeps the line breaks.
func verbatim(b *strings.Builder, text string) {
	b.WriteString(".nf\n")
	for line := range strings.Lines(text) {
		b.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
	}
	b.WriteString(".fi\n")
}

// options writes the flags and their descriptions as roff, in the order of their names.
func options(b *strings.Builder, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Name == "help" {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if kind := f.Value.Type(); kind != "bool" {
			name += " " + kind
		}
		text := f.Usage
		if d := f.DefValue; d != "" && d != "false" && d != "0" {
			text += " (default " + d + ")"
		}
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(name), roff(text))
	})
}

// roff escapes a line of text for roff: https://man7.org/linux/man-pages/man7/groff_char.7.html
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "'", `\(aq`, "`", `\(ga`, "^", `\(ha`, "~", `\(ti`).Replace(line)
	if strings.HasPrefix(line, ".") {
		line = `\&` + line
	}
	if line == "" {
		return `\&`
	}
	return line
}

package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
)

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version", Args: a.noArgs,
		RunE: func(*cobra.Command, []string) error { return a.printVersion() },
	}
}

func (a *app) printVersion() error {
	_, err := fmt.Fprintln(a.std.Out, version(debug.ReadBuildInfo()))
	return err
}

// released is the version of a build by "make release", which sets it with the linker. Other builds leave it empty.
var released string

// version returns the version, the Go version and the platform of this program, as far as they are known.
func version(info *debug.BuildInfo, ok bool) string {
	number, commit := "(unknown)", ""
	if ok {
		number = info.Main.Version
		if released != "" {
			number = released
		}
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				commit = ", commit " + s.Value[:min(12, len(s.Value))]
			case s.Key == "vcs.modified" && s.Value == "true":
				commit += " with changes"
			}
		}
	}
	return fmt.Sprintf("rowlock %s (%s, %s/%s%s)", number, runtime.Version(), runtime.GOOS, runtime.GOARCH, commit)
}

package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/fence"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// markView is the output of "fence ls" for one mark.
type markView struct {
	Namespace string  `json:"namespace"`
	Resource  string  `json:"resource"`
	Token     int64   `json:"token"`       // zero if the mark was reset after the last seal
	Domain    string  `json:"domain"`      // where the token comes from: the kind of store, a space, and the lock
	Resets    int64   `json:"resets"`      // the number of resets of the mark
	Age       float64 `json:"age_seconds"` // the time since the last seal or reset, by the store's clock

	mark fence.Mark
}

func (a *app) fenceLs() *cobra.Command {
	var asJSON, everywhere bool
	cmd := &cobra.Command{
		Use:   "ls [OPTIONS]",
		Short: "List the marks",
		Long: `Lists the marks of a namespace. TOKEN is the token of the holder that sealed the resource last. DOMAIN is
where the token comes from: the kind of store and the lock. TOKEN and DOMAIN are empty if the mark was reset
after the last seal. AGE is the time since the last seal or reset. RESETS is the number of resets.`,
		DisableFlagsInUseLine: true,
		Args:                  a.noArgs,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON array")
	cmd.Flags().BoolVarP(&everywhere, "all", "A", false, "list the marks of every namespace")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return a.withMarks(cmd.Context(), limits.inspect, func(ctx context.Context, s *store.Store) error {
			list, err := s.Guard().Marks(ctx, a.namespace, everywhere)
			if err != nil {
				return exit.With(exit.Unavailable, err)
			}
			views := []markView{} // an empty list is [] in JSON, and not null
			for _, m := range list {
				views = append(views, markView{m.Namespace, m.Resource, int64(m.Token), m.Domain, m.Resets, terminal.Seconds(m.Age), m})
			}
			if asJSON {
				return terminal.WriteJSON(a.std.Out, views)
			}
			return writeMarks(a.std.Out, views, everywhere)
		})
	}
	return cmd
}

// writeMarks writes marks in columns. It writes the namespace only if namespaces is true.
func writeMarks(w io.Writer, marks []markView, namespaces bool) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	head := []string{"RESOURCE", "TOKEN", "AGE", "RESETS", "DOMAIN"}
	if namespaces {
		head = append([]string{"NAMESPACE"}, head...)
	}
	fmt.Fprintln(t, strings.Join(head, "\t"))
	for _, v := range marks {
		token := "-"
		if v.Token != 0 {
			token = fmt.Sprint(v.Token)
		}
		cells := []string{terminal.Cell(v.Resource), token, terminal.Span(v.mark.Age), fmt.Sprint(v.Resets), terminal.Note(v.Domain)}
		if namespaces {
			cells = append([]string{terminal.Cell(v.Namespace)}, cells...)
		}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

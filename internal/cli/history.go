package cli

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/history"
	"github.com/rowlock/rowlock/internal/cli/job"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/terminal"
)

// historyView is the output of "rowlock history" for one lock.
type historyView struct {
	Namespace    string    `json:"namespace"`
	Name         string    `json:"name"`
	RefusedInRow int       `json:"refused_in_a_row"` // how many attempts were refused since the last run began; at most 100
	Runs         []runView `json:"runs"`             // the newest first
}

// runView is the output for one run or one refusal. Times come from the store's clock.
type runView struct {
	StartedAt time.Time `json:"started_at"` // when the lock was granted, or the request was refused
	// For a refusal: held or skipped. For a run with a recorded end: exited, timeout, lost or failed. For a run without
	// a recorded end: running or unfinished.
	Outcome  string   `json:"outcome"`
	ExitCode *int     `json:"exit_code"`    // the exit code of rowlock run; null if no end was recorded
	Took     *float64 `json:"took_seconds"` // the duration of the run; null if no end was recorded
	Waited   float64  `json:"waited_seconds"`
	Token    int64    `json:"token"` // the token of the grant; zero for a refusal
	Holder   string   `json:"holder"`
	Note     string   `json:"note"`
	HeldBy   string   `json:"held_by"` // for a refusal: the holder that had the lock

	record history.Record
}

func (a *app) historyCommand() *cobra.Command {
	var asJSON bool
	limit := 20
	cmd := &cobra.Command{
		Use:   "history [OPTIONS] NAME",
		Short: "Show what became of the last runs under a lock",
		Long: `Shows the last runs of "rowlock run" under a lock, the newest first: when each run started, its exit code, and
how long it took. It also shows when a run was refused, and which holder had the lock. For each lock the store
keeps the last hundred runs and the last hundred refusals. The history does not contain locks that programs
acquire with the Go package.

"rowlock run" records a run when it starts. It records the result at the end, if it can reach the store then. A
run without a recorded end is shown as running while it holds the lock. Otherwise it is shown as unfinished:
rowlock was killed with KILL, its machine crashed, or the store could not be reached. Stores without tables
(redis, redlock, etcd, zk) keep no history.`,
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "show at most this many")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if limit < 1 {
			return exit.Usagef("--limit=%d: must be at least 1", limit)
		}
		at, err := a.location()
		if err == nil {
			err = at.RefuseKeyValue("%s keeps no history: the history needs a table, in SQLite, Postgres, MySQL or MariaDB")
		}
		if err != nil {
			return err
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store.Store) error {
			key := driver.Key{Namespace: a.namespace, Name: args[0]}
			list, err := history.Of(s).List(ctx, key)
			if err != nil {
				return historyFailure(s, err)
			}
			status, err := s.Backend.Inspect(ctx, key)
			if err != nil {
				return exit.OfInspect(err, exit.Unavailable)
			}
			v := newHistoryView(status, list, limit)
			if asJSON {
				return terminal.WriteJSON(a.std.Out, v)
			}
			return v.write(a.std.Out)
		})
	}
	return cmd
}

// historyFailure replaces the error about a missing table with an error that says how to create the table.
func historyFailure(s *store.Store, err error) error {
	if store.IsMissingTable(err) {
		return exit.Failf(exit.Unavailable, "the table %s_run is missing in %s; create it with: rowlock migrate up%s", s.Table, s.At.Shown, s.Flags())
	}
	return exit.With(exit.Unavailable, err)
}

// unfinished is the displayed outcome of a run that no longer holds the lock and has no recorded end.
const unfinished = "unfinished"

func newHistoryView(status driver.Status, list []history.Record, limit int) historyView {
	v := historyView{Namespace: status.Key.Namespace, Name: status.Key.Name, Runs: []runView{}} // an empty list is [] in JSON, and not null
	for _, r := range list {
		if r.Token != 0 {
			break
		}
		v.RefusedInRow++
	}
	for _, r := range list[:min(len(list), limit)] {
		run := runView{
			StartedAt: time.UnixMicro(r.StartedMicros).UTC(), Outcome: r.Outcome, Waited: terminal.Seconds(r.Waited),
			Token: int64(r.Token), Holder: r.Holder, Note: r.Note, HeldBy: r.HeldBy, record: r,
		}
		took := terminal.Seconds(r.Took)
		switch {
		case r.Outcome != job.Running:
			run.ExitCode, run.Took = &r.Code, &took
		case status.State != driver.StateHeld || status.Token != r.Token && status.Token != 0: // if status.Token is 0, the store does not report which grant holds the lock
			run.Outcome = unfinished
		}
		v.Runs = append(v.Runs, run)
	}
	return v
}

// write writes the runs in columns.
func (v historyView) write(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "STARTED\tOUTCOME\tEXIT\tTOOK\tWAITED\tTOKEN\tHOLDER\tNOTE")
	for _, r := range v.Runs {
		took, code, token, remark := "-", "-", fmt.Sprint(r.Token), terminal.Note(r.Note)
		if r.ExitCode != nil {
			took, code = terminal.Span(r.record.Took), fmt.Sprint(*r.ExitCode)
		}
		if r.Token == 0 {
			took, token, remark = "-", "-", strings.TrimSpace("held by "+terminal.Cell(r.HeldBy)+" "+terminal.Note(r.Note))
		}
		cells := []string{r.StartedAt.Format("2006-01-02 15:04:05 UTC"), r.Outcome, code, took, terminal.Span(r.record.Waited), token, terminal.Cell(r.Holder), remark}
		fmt.Fprintln(t, strings.TrimRight(strings.Join(cells, "\t"), "\t"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	if v.RefusedInRow == 0 {
		return nil
	}
	times := fmt.Sprintf("%d times in a row", v.RefusedInRow)
	switch {
	case v.RefusedInRow == 1:
		times = "once"
	case v.RefusedInRow >= history.Kept:
		times = fmt.Sprintf("%d times in a row or more", history.Kept)
	}
	if _, err := fmt.Fprintf(w, "%q was refused %s since the last run began\n", driver.Key{Namespace: v.Namespace, Name: v.Name}.String(), times); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

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
)

// historyView is what history shows of a name.
type historyView struct {
	Namespace    string    `json:"namespace"`
	Name         string    `json:"name"`
	RefusedInRow int       `json:"refused_in_a_row"` // since the last run began; at most 100
	Runs         []runView `json:"runs"`             // the newest first
}

// runView is one run, or one refusal. Times are by the store's clock.
type runView struct {
	StartedAt time.Time `json:"started_at"`   // of the grant, or of the refused request
	Outcome   string    `json:"outcome"`      // exited, timeout, lost or failed; running or unfinished without an end; held or skipped if it was refused
	ExitCode  *int      `json:"exit_code"`    // of rowlock run; null without an end
	Took      *float64  `json:"took_seconds"` // null without an end
	Waited    float64   `json:"waited_seconds"`
	Token     int64     `json:"token"` // zero if it was refused
	Holder    string    `json:"holder"`
	Note      string    `json:"note"`
	HeldBy    string    `json:"held_by"` // who had the lock, if it was refused

	record record
}

func (a *app) historyCommand() *cobra.Command {
	var asJSON bool
	limit := 20
	cmd := &cobra.Command{
		Use:   "history [OPTIONS] NAME",
		Short: "Show what became of the last runs under a lock",
		Long: `Shows the last runs of "rowlock run" under a lock, the newest first: since when, with what exit code, and how
long; and when it was refused, by whom. Of each name the last hundred runs and the last hundred refusals are
kept. What programs do with the Go package is not among them.

A run is written down as it starts, and how it ended at its end, if the store can be reached then. A run
without an end is shown as running while it holds the lock, and as unfinished otherwise: rowlock was killed with
KILL, its machine died, or the store was away. Stores without tables (redis, redlock, etcd, zk) keep no history.

` + exitCodeHelp(),
		DisableFlagsInUseLine: true,
		Args:                  a.key,
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "write a JSON object")
	cmd.Flags().IntVarP(&limit, "limit", "n", limit, "show so many at most")
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if limit < 1 {
			return usage("--limit=%d: must be at least 1", limit)
		}
		at, err := a.location()
		if err == nil {
			err = at.refuseKeyValue("%s keeps no history: it is kept in a table, so by SQLite, Postgres, MySQL and MariaDB")
		}
		if err != nil {
			return err
		}
		return a.withStore(cmd.Context(), func(ctx context.Context, s *store) error {
			key := driver.Key{Namespace: a.namespace, Name: args[0]}
			list, err := s.records(ctx, key)
			if err != nil {
				return s.historyFailure(err)
			}
			status, err := s.backend.Inspect(ctx, key)
			if err != nil {
				return inspectFailure(err, exitUnavailable)
			}
			v := newHistoryView(status, list, limit)
			if asJSON {
				return writeJSON(a.std.Out, v)
			}
			return v.write(a.std.Out)
		})
	}
	return cmd
}

// historyFailure says how a missing table is mended.
func (s *store) historyFailure(err error) error {
	if isMissingTable(err) {
		return fail(exitUnavailable, "the table %s_run is missing in %s; create it with: rowlock migrate up%s", s.table, s.at.shown, s.flags())
	}
	return &failure{exitUnavailable, err}
}

// unfinished is the outcome of a run whose end was not written, and that does not hold the lock any more.
const unfinished = "unfinished"

func newHistoryView(status driver.Status, list []record, limit int) historyView {
	v := historyView{Namespace: status.Key.Namespace, Name: status.Key.Name, Runs: []runView{}} // not null in JSON
	for _, r := range list {
		if r.token != 0 {
			break
		}
		v.RefusedInRow++
	}
	for _, r := range list[:min(len(list), limit)] {
		run := runView{
			StartedAt: time.UnixMicro(r.startedMicros).UTC(), Outcome: r.outcome, Waited: inSeconds(r.waited),
			Token: int64(r.token), Holder: r.holder, Note: r.note, HeldBy: r.heldBy, record: r,
		}
		took := inSeconds(r.took)
		switch {
		case r.outcome != outcomeRunning:
			run.ExitCode, run.Took = &r.code, &took
		case status.State != driver.StateHeld || status.Token != r.token && status.Token != 0: // 0: the store does not tell whose it is
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
		took, code, token, remark := "-", "-", fmt.Sprint(r.Token), note(r.Note)
		if r.ExitCode != nil {
			took, code = span(r.record.took), fmt.Sprint(*r.ExitCode)
		}
		if r.Token == 0 {
			took, token, remark = "-", "-", strings.TrimSpace("held by "+cell(r.HeldBy)+" "+note(r.Note))
		}
		cells := []string{r.StartedAt.Format("2006-01-02 15:04:05 UTC"), r.Outcome, code, took, span(r.record.waited), token, cell(r.Holder), remark}
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
	case v.RefusedInRow >= recordsKept:
		times = fmt.Sprintf("%d times in a row or more", recordsKept)
	}
	if _, err := fmt.Fprintf(w, "%q was refused %s since the last run began\n", driver.Key{Namespace: v.Namespace, Name: v.Name}.String(), times); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

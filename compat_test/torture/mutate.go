//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/rowlock/rowlock/compat_test/torture/check"
	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// killMutants runs every mutant whose name contains the text in only. It reports whether each of them violated one of
// the properties in its field caughtBy. If page is not empty, killMutants adds the table to mutants.md in the folder page.
func killMutants(ctx context.Context, o settings, only string, together int, page string) bool {
	s, err := findStore("sqlite")
	if err != nil {
		return false
	}
	chosen := slices.DeleteFunc(slices.Clone(mutants), func(m mutant) bool { return !strings.Contains(m.name, only) })
	lines, killed := make([]string, len(chosen)), make([]bool, len(chosen))
	turns := make(chan struct{}, together)
	var group sync.WaitGroup
	for i, m := range chosen {
		group.Go(func() {
			turns <- struct{}{}
			defer func() { <-turns }()
			o := o
			o.mutant = m.name
			broken, err := mutate(ctx, s, o)
			killed[i] = slices.ContainsFunc(m.caughtBy, func(id string) bool { return slices.Contains(broken, id) })
			lines[i] = fmt.Sprintf("| %s | %s | %s |", m.name, strings.Join(m.caughtBy, " or "), strings.Join(broken, ", "))
			if err != nil {
				lines[i] += " " + err.Error()
			}
		})
	}
	group.Wait()
	var table strings.Builder
	table.WriteString("| defect | must break | broken |\n|---|---|---|\n")
	dead := 0
	for i := range chosen {
		if fmt.Fprintln(&table, lines[i]); killed[i] {
			dead++
		}
	}
	fmt.Fprintf(&table, "\n%d of %d mutants caught.\n", dead, len(chosen))
	fmt.Print(table.String())
	if page != "" {
		if err := appendTo(page+"/mutants.md", "\n## Found by the checker of the torture\n\n"+table.String()); err != nil {
			fmt.Fprintln(os.Stderr, "torture:", err)
			return false
		}
	}
	return dead == len(chosen)
}

func appendTo(path, text string) error {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	return errors.Join(err, file.Close())
}

// mutate runs a mutant, and returns the properties that the run violated.
func mutate(ctx context.Context, s store, o settings) (broken []string, err error) {
	folder, err := newFolder("", "mutant")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(folder)
	if err := torture(ctx, s, o, folder); err != nil {
		return nil, err
	}
	r, err := history.Open(folder)
	if err != nil {
		return nil, err
	}
	for _, v := range check.Check(r).Verdicts {
		if v.Broken > 0 {
			broken = append(broken, v.ID)
		}
	}
	return broken, nil
}

package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/rowlock/rowlock/bench/report"
)

// choice is one measurement that will run: one table, for one store.
type choice struct {
	table table
	store store
}

// choose parses a list such as handover,cycle/redis. An empty list means all tables and stores.
func choose(only string) (chosen []choice, err error) {
	known := map[string]bool{"": true}
	for _, t := range tables() {
		known[t.name] = true
		for _, id := range t.stores {
			name := t.name + "/" + id
			known[name] = true
			wanted := strings.Split(only, ",")
			if only == "" || slices.Contains(wanted, t.name) || slices.Contains(wanted, name) {
				s, _ := storeOf(id)
				chosen = append(chosen, choice{t, s})
			}
		}
	}
	for _, name := range strings.Split(only, ",") {
		if !known[name] {
			return nil, fmt.Errorf("-only=%s: the tables are %s; each may be followed by one store: /%s", name, strings.Join(tableNames(), ", "), strings.Join(everywhere, ", /"))
		}
	}
	return chosen, nil
}

// unmeasured returns the choices without results in the folder. Results of a quick run do not count.
func unmeasured(all []choice, folder string) (left []choice, err error) {
	for _, c := range all {
		kept, err := report.Load(folder, c.table.name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(kept.Sections, func(s report.Section) bool { return s.Store == c.store.id && !s.Quick }) {
			left = append(left, c)
		}
	}
	return left, nil
}

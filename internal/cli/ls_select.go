package cli

import (
	"cmp"
	"path"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/cli/exit"
	"github.com/rowlock/rowlock/internal/cli/store"
	"github.com/rowlock/rowlock/internal/cli/view"
)

// selection contains the options of ls that filter and sort the list.
type selection struct {
	name, holder string
	states       []string
	sort         string
	reverse      bool
	all          bool
}

var (
	allStates = []string{"held", "paused", "closed", "expired", "free"}
	sortKeys  = []string{"name", "state", "holder", "age", "token"}
)

func (w *selection) flags(flags *pflag.FlagSet) {
	w.sort = sortKeys[0]
	flags.StringVar(&w.name, "name", "", "only locks whose names match a pattern in which * is any text and ? any character")
	flags.StringVar(&w.holder, "holder", "", "only locks whose holder contains the text")
	flags.StringSliceVar(&w.states, "state", nil, "only locks in these states: "+strings.Join(allStates, ", "))
	flags.Var(choiceValue{&w.sort, sortKeys}, "sort", "the column to sort by")
	flags.BoolVarP(&w.reverse, "reverse", "r", false, "reverse the order of the list")
}

func (w *selection) check(all bool) error {
	w.all = all
	if _, err := path.Match(pattern(w.name), ""); err != nil {
		return exit.Usagef("--name=%s: %w", w.name, err)
	}
	for _, state := range w.states {
		if !slices.Contains(allStates, state) {
			return exit.Usagef("--state=%s: write %s", state, strings.Join(allStates, ", "))
		}
	}
	return nil
}

// pattern replaces each slash in a text with a zero byte. Otherwise the * of a pattern would not match a slash in a
// name: path.Match treats a slash as a separator.
func pattern(text string) string { return strings.ReplaceAll(text, "/", "\x00") }

// of returns the locks in the slice list that match the selection, sorted. The result is never nil, so an empty list is
// [] in JSON, and not null.
func (w *selection) of(s *store.Store, list []driver.Status) []view.Lock {
	views := []view.Lock{}
	for _, status := range list {
		if w.shows(status) {
			views = append(views, view.Of(s, status))
		}
	}
	slices.SortStableFunc(views, w.compare) // the sort is stable: equal locks stay in the order of the list, which is sorted by name
	if w.reverse {
		slices.Reverse(views)
	}
	return views
}

func (w *selection) shows(s driver.Status) bool {
	if len(w.states) > 0 && !slices.Contains(w.states, s.State.String()) || len(w.states) == 0 && !w.all && s.State == driver.StateFree {
		return false
	}
	if !strings.Contains(s.Holder, w.holder) {
		return false
	}
	matches, _ := path.Match(pattern(w.name), pattern(s.Key.Name)) // cannot fail: the method check has validated the pattern
	return w.name == "" || matches
}

func (w *selection) compare(x, y view.Lock) int {
	switch w.sort {
	case "state":
		return cmp.Compare(slices.Index(allStates, x.State), slices.Index(allStates, y.State))
	case "holder":
		return cmp.Compare(x.Holder, y.Holder)
	case "age":
		return cmp.Compare(x.Status.Age, y.Status.Age)
	case "token":
		return cmp.Compare(x.Token, y.Token)
	default:
		return 0 // sorted by name: the list of the store already has this order
	}
}

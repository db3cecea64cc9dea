package check

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// Figures are the counts and durations that summarise a run.
type Figures struct {
	Granted, Held, Unknown, Unavailable, Unsealed, Cancelled, Failed int
	UnknownGranted                                                   int // the following figures are counted from the store's audit
	Renewed, Lost                                                    int
	Faults, Effective                                                map[string]int
	Evictions                                                        int
	LiveExpiries                                                     int // leases that expired although the holder was alive
	Steals                                                           int // the number of LiveExpiries whose name was granted to another process before the loss was reported
	StaleRefused, StaleKnown, StaleCommitted                         int
	Overlaps, Explained                                              int
	ControlLost, ControlTotal                                        int
	Writes, Undecided, Applied                                       int
	TokenFaults                                                      int
	LossReport, Stuck, WakeUp, HeldUp                                []time.Duration
	Overtaken                                                        int
	Whole, Partial                                                   int // calls of AcquireAll that were granted and refused
	Slots                                                            int // the most holders of slots at the same time
	Readers                                                          int // the most readers of the board at the same time
	WriterWait                                                       []time.Duration
	// Counts of calls of Once. Done: the job ran, and the call reported success. Open: the job ran, and the call
	// reported no success. Already: the job did not run, because its tick was done.
	Done, Open, Already int
}

func (b *book) figures() *Figures {
	f := &Figures{Faults: map[string]int{}, Effective: map[string]int{}}
	outcomes := map[string]*int{
		history.Held: &f.Held, history.Unknown: &f.Unknown, history.Unavailable: &f.Unavailable,
		history.Unsealed: &f.Unsealed, history.Cancelled: &f.Cancelled, history.Failed: &f.Failed,
	}
	granted := map[string]bool{}
	for _, try := range b.tryOf {
		granted[try] = true
	}
	for _, a := range b.attempts {
		if a.held {
			f.Granted++
			f.Renewed += len(a.trust) - 1
		}
		switch {
		case a.refused.Outcome == history.Done:
			f.Already++
		case a.done():
			f.Done++
		case a.tick != 0 && a.held:
			f.Open++
		}
		if n := outcomes[a.refused.Outcome]; n != nil {
			*n++
			if granted[a.try] && (a.refused.Outcome == history.Unknown || a.refused.Outcome == history.Unavailable) {
				f.UnknownGranted++
			}
		}
		if a.lost.At != 0 && a.held {
			f.Lost++
			f.LiveExpiries++
			if next := b.next(a.name, a.granted); next != nil && next.granted < a.lost.At {
				f.Steals++
			}
		}
	}
	for _, one := range b.faults {
		if one.kind == faultEvict {
			continue
		}
		f.Faults[one.kind]++
		if one.hit {
			f.Effective[one.kind]++
		}
	}
	for _, e := range b.Events {
		switch {
		case e.Kind == history.Evict && e.End != 0 && e.Outcome == history.OK:
			f.Evictions++
		case e.Kind == history.Wrote && fenced(e.Name):
			f.Writes++
			switch e.Outcome {
			case history.Stale:
				f.StaleRefused++
			case history.LeaseLost:
				f.StaleKnown++
			}
		}
	}
	for _, of := range b.calls {
		switch {
		case strings.HasPrefix(of[0].name, slot):
		case slices.ContainsFunc(of, func(a *attempt) bool { return !a.held }):
			f.Partial++
		default:
			f.Whole++
		}
	}
	f.Faults[faultEvict], f.Effective[faultEvict] = f.Evictions, f.Evictions
	f.ControlLost, f.ControlTotal = b.controlLosses()
	f.Overtaken = slices.Max(append(b.overtaken(), 0))
	return f
}

func sum(of map[string]int) (n int) {
	for _, one := range of {
		n += one
	}
	return n
}

func quantiles(d []time.Duration) string {
	if len(d) == 0 {
		return "-"
	}
	d = slices.Sorted(slices.Values(d))
	at := func(q int) time.Duration { return d[(len(d)-1)*q/100].Round(100 * time.Microsecond) }
	return fmt.Sprintf("%s / %s / %s of %d", at(50), at(99), at(100), len(d))
}

// lines returns pairs of a figure's name and its value.
func (f *Figures) lines() [][2]string {
	kinds := make([]string, 0, len(f.Faults))
	for kind, n := range f.Faults {
		kinds = append(kinds, fmt.Sprintf("%s %d", kind, n))
	}
	slices.Sort(kinds)
	percent := func(n, of int) string { return fmt.Sprintf("%.1f %%", 100*float64(n)/float64(max(of, 1))) }
	return [][2]string{
		{"acquisitions", fmt.Sprint(f.Granted)},
		{"refused: held, unavailable, unsealed, cancelled", fmt.Sprintf("%d, %d, %d, %d", f.Held, f.Unavailable, f.Unsealed, f.Cancelled)},
		{"answered as unknown or unavailable, but granted by the store", fmt.Sprint(f.UnknownGranted)},
		{"renewals; losses", fmt.Sprintf("%d; %d", f.Renewed, f.Lost)},
		{"faults injected / effective", fmt.Sprintf("%d / %d", sum(f.Faults), sum(f.Effective))},
		{"of them", strings.Join(kinds, ", ")},
		{"live holders that lost / of them after the next grant", fmt.Sprintf("%d / %d", f.LiveExpiries, f.Steals)},
		{"fenced writes; of them with unknown outcome / of those applied", fmt.Sprintf("%d; %d / %d", f.Writes, f.Undecided, f.Applied)},
		{"stale writes rejected: by the database / by the lease", fmt.Sprintf("%d / %d", f.StaleRefused, f.StaleKnown)},
		{"stale writes committed", fmt.Sprint(f.StaleCommitted)},
		{"two holders that trusted at once: unexplained / declared", fmt.Sprintf("%d / %d", f.Overlaps, f.Explained)},
		{"token regressions and duplicates", fmt.Sprint(f.TokenFaults)},
		{"control without fence: updates lost", fmt.Sprintf("%d of %d (%s)", f.ControlLost, f.ControlTotal, percent(f.ControlLost, f.ControlTotal))},
		{"loss report after the deadline p50 / p99 / max", quantiles(f.LossReport)},
		{"lock stuck after a crash p50 / p99 / max", quantiles(f.Stuck)},
		{"hand-over to a waiter p50 / p99 / max", quantiles(f.WakeUp)},
		{"next holder's wait for a transaction p50 / p99 / max", quantiles(f.HeldUp)},
		{"most later requests granted before an undisturbed waiter", fmt.Sprint(f.Overtaken)},
		{"calls for three names together: granted / refused", fmt.Sprintf("%d / %d", f.Whole, f.Partial)},
		{"most holders of the three slots at the same time", fmt.Sprint(f.Slots)},
		{"most readers of the board at the same time", fmt.Sprint(f.Readers)},
		{"wait of a writer of the board p50 / p99 / max", quantiles(f.WriterWait)},
		{"jobs of a tick: done / run, but not done / already done", fmt.Sprintf("%d / %d / %d", f.Done, f.Open, f.Already)},
	}
}

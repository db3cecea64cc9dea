package check

import (
	"fmt"
	"strings"
	"time"

	"github.com/rowlock/rowlock/compat_test/torture/history"
)

// Report is the result of checking a run.
type Report struct {
	Meta     history.Meta
	Verdicts []*Verdict
	Figures  *Figures
	Missing  []string // required observations that this run did not make
	Took     time.Duration
}

// Check checks every property of a run.
func Check(r *history.Run) *Report {
	begin := time.Now()
	b := newBook(r)
	f := b.figures()
	report := &Report{Meta: r.Meta, Figures: f}
	add := func(v *Verdict) *Verdict {
		report.Verdicts = append(report.Verdicts, v)
		return v
	}
	add(b.serverOrder())
	tokens, realTime := add(b.tokenOrder()), add(b.realTime())
	add(b.containment())
	view, explained := b.holderView()
	add(view)
	stale, lost := add(b.staleWrites()), add(b.noLostUpdate())
	add(b.ownRelease())
	add(b.ownRenewal())
	add(b.noLateTrust())
	reported, latency := b.reported()
	add(reported)
	add(b.oneSealer())
	add(b.pruned())
	add(b.oneToken())
	add(b.honesty())
	add(b.wholeCalls())
	held, most := b.slotHolders()
	add(held)
	add(b.doneOnce())
	add(b.doneForGood())
	board, readers := b.readersOrWriter()
	add(board)
	add(b.epochs())
	answers, undecided, applied := b.answers()
	add(answers)
	crash, stuck := b.afterCrash()
	add(crash)
	wakes, handOvers := b.wakeUps()
	add(wakes)
	add(b.abandoned())
	standing, heldUp := b.heldUp()
	add(standing)
	add(b.inTurn())
	add(b.recovery())
	add(b.empty())
	served, waits := b.writersServed()
	add(served)
	add(b.linearizable())
	f.TokenFaults, f.Overlaps, f.Explained = tokens.Broken+realTime.Broken, view.Broken, explained
	f.StaleCommitted, f.Undecided, f.Applied = stale.Broken+lost.Broken, undecided, applied
	f.Slots, f.Readers, f.WriterWait = most, readers, waits
	f.LossReport, f.Stuck, f.WakeUp, f.HeldUp = latency, stuck, handOvers, heldUp
	report.Missing = f.missing(r.Meta.Expect.Told)
	report.Took = time.Since(begin)
	return report
}

// missing returns the required observations that the run did not make. Without these observations a success proves too little.
func (f *Figures) missing(told bool) (missing []string) {
	refused := f.StaleRefused
	if told {
		refused += f.StaleKnown
	}
	for _, need := range []struct {
		n    int
		what string
	}{
		{f.Granted, "a lock was granted"},
		{sum(f.Effective), "a fault took effect"},
		{f.LiveExpiries, "a live holder lost its lease"},
		{refused, "the database refused a stale write"},
		{f.StaleKnown, "the lease rejected a write of its former holder"},
		{f.ControlLost, "the control without a fence lost an update: the faults were too weak, so the other results mean little"},
		{f.Evictions, "a live lease was force-released"},
	} {
		if need.n == 0 {
			missing = append(missing, need.what)
		}
	}
	return missing
}

// OK reports whether every property holds and the run made all required observations.
func (r *Report) OK() bool {
	for _, v := range r.Verdicts {
		if !v.OK() {
			return false
		}
	}
	return len(r.Missing) == 0 && r.Figures.Failed == 0
}

// Page returns the file name of the report's page.
func (r *Report) Page() string { return r.name() + ".md" }

func (r *Report) name() string {
	if r.Meta.Dense {
		return r.Meta.Backend + "-dense"
	}
	return r.Meta.Backend
}

func (r *Report) title() string {
	return fmt.Sprintf("%s, seed %d, TTL %s, %d workers, %s", r.name(), r.Meta.Seed, r.Meta.TTL, r.Meta.Workers, r.Meta.Took.Round(time.Second))
}

// String returns the figures and the verdicts as text.
func (r *Report) String() string {
	var s strings.Builder
	fmt.Fprintf(&s, "== %s\n", r.title())
	for _, line := range r.Figures.lines() {
		fmt.Fprintf(&s, "%-62s %s\n", line[0], line[1])
	}
	for _, v := range r.Verdicts {
		fmt.Fprintln(&s, v)
		for _, example := range v.Examples {
			fmt.Fprintf(&s, "        %s\n", example)
		}
	}
	if r.Figures.Failed > 0 {
		fmt.Fprintf(&s, "FAILED: %d calls ended with an unexplained error\n", r.Figures.Failed)
	}
	for _, what := range r.Missing {
		fmt.Fprintf(&s, "TOO LITTLE: the run did not observe that %s\n", what)
	}
	fmt.Fprintf(&s, "checked in %s\n", r.Took.Round(time.Millisecond))
	return s.String()
}

// Markdown returns the figures and the verdicts as a Markdown page.
func (r *Report) Markdown() string {
	var s strings.Builder
	fmt.Fprintf(&s, "# Torture: %s\n\nSeed %d, TTL %s, %d workers, %s. Again:\n\n    %s\n\n", r.name(), r.Meta.Seed, r.Meta.TTL, r.Meta.Workers, r.Meta.Took.Round(time.Second), r.Meta.Repeat)
	s.WriteString("| figure | |\n|---|---|\n")
	for _, line := range r.Figures.lines() {
		fmt.Fprintf(&s, "| %s | %s |\n", line[0], line[1])
	}
	s.WriteString("\n| | property | judged | broken | undecided |\n|---|---|---:|---:|---:|\n")
	for _, v := range r.Verdicts {
		property := v.Property
		if v.NotSeen != "" {
			property += " (" + v.NotSeen + ")"
		}
		fmt.Fprintf(&s, "| %s | %s | %d | %d | %d |\n", v.ID, property, v.Judged, v.Broken, v.Unknown)
	}
	return s.String()
}

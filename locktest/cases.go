package locktest

import (
	"fmt"
	"slices"
	"time"
)

const (
	// steady is the TTL of leases that must not expire while a case runs, however slow the machine.
	steady = 20 * time.Second
	// brief is the TTL of leases whose expiry is waited for. A store may round it up.
	brief = 400 * time.Millisecond
	// lively is the TTL of leases that the engine keeps alive while something goes wrong: long
	// enough that a delay of the scheduler is not a loss.
	lively = time.Second
	// kept is the TTL of leases of which nothing but renewals may decide: on a machine that is starved no renewal is
	// answered for a second.
	kept = 3 * time.Second
	// slack is how much longer than its limits a call may take on a slow machine.
	slack = 2 * time.Second
)

// testCase is one promise and how to check it.
type testCase struct {
	name    string
	promise string
	needs   []power
	alone   bool // it changes what is not its own, and so runs while no other case does
	run     func(*trial)
}

// cases are all of them, in the order in which they are best read.
func cases() []testCase {
	return slices.Concat(
		exclusionCases, sharingCases, tokenCases, nonceCases, renewalCases, releaseCases, foreignCases, handOverCases,
		termCases, closureCases, refusalCases, nameCases, cancelCases,
		inspectorCases, pauseCases, notifierCases, historyCases,
		waitingCases, leavingCases, keepingCases, lossCases, partitionCases, doubtCases, closeCases, leftoverCases,
	)
}

// unable says why c cannot be run on h; empty when it can.
func (c testCase) unable(h Harness) string {
	if e, ok := h.(Exempter); ok {
		if why, exempt := e.Exempt()[c.name]; exempt {
			return "the backend declares an exception: " + why
		}
	}
	for _, p := range c.needs {
		if !p.has(h) {
			return "the harness does not implement locktest." + p.name
		}
	}
	return ""
}

// checkExemptions finds exceptions from cases that do not exist.
func checkExemptions(h Harness) error {
	e, ok := h.(Exempter)
	if !ok {
		return nil
	}
	for name := range e.Exempt() {
		if !slices.ContainsFunc(cases(), func(c testCase) bool { return c.name == name }) {
			return fmt.Errorf("locktest: the harness exempts %q, and there is no such case", name)
		}
	}
	return nil
}

package locktest

import (
	"fmt"
	"slices"
	"time"
)

const (
	// steady is the TTL of leases that must not expire while a case runs, even on a slow machine.
	steady = 20 * time.Second
	// longest is the TTL of leases in cases with many requests. It is as long as a case may take.
	longest = 2 * time.Minute
	// brief is the TTL of leases whose expiry a case waits for. A store may round this TTL up.
	brief = 400 * time.Millisecond
	// lively is the TTL of leases that the engine renews during a fault. It is long enough that a delay of
	// the scheduler causes no loss.
	lively = time.Second
	// kept is the TTL of leases that only a missing renewal may end. On an overloaded machine a renewal may
	// have no reply for three seconds.
	kept = 6 * time.Second
	// attempt is the time limit of one attempt whose reply may be lost.
	attempt = 2 * time.Second
	// slack is how much longer than its limit a call may take. A waiter that gives up may wait for two seconds: one for
	// its last reply, and one for the withdrawal of its request. The rest is for a slow machine.
	slack = 6 * time.Second
)

// testCase is one promise and the function that checks it.
type testCase struct {
	name    string
	promise string
	needs   []power
	alone   bool // true if the case changes more than its own names, so no other case may run at the same time
	run     func(*trial)
}

// cases returns all cases, in the order in which [Run] starts them.
func cases() []testCase {
	return slices.Concat(
		exclusionCases, sharingCases, writerCases, tokenCases, nonceCases, renewalCases, releaseCases, foreignCases, handOverCases,
		termCases, closureCases, refusalCases, nameCases, cancelCases,
		inspectorCases, pauseCases, notifierCases, historyCases,
		severalCases, tickCases, waitingCases, leavingCases, keepingCases, lossCases, partitionCases, doubtCases, closeCases, leftoverCases,
		restartCases, requestCases, rightCases,
	)
}

// unable returns the reason why c cannot run on h, or "" if c can run.
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

// checkExemptions returns an error for an exemption from a case that does not exist.
func checkExemptions(h Harness) error {
	e, ok := h.(Exempter)
	if !ok {
		return nil
	}
	for name := range e.Exempt() {
		if !slices.ContainsFunc(cases(), func(c testCase) bool { return c.name == name }) {
			return fmt.Errorf("locktest: the harness exempts %q, but no such case exists", name)
		}
	}
	return nil
}

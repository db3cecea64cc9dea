package zklock_test

import "testing"

// faults are those of clients, their connections and their sessions, and the bugs of other libraries. They end
// well on one server, and on three.
var faults = map[string]func(*testing.T, *network){
	"orphan":              noOrphanAtTheHeadOfTheQueue,
	"lost-reply":          aLostReplyIsFoundAgain,
	"release-after-loss":  releaseAfterLossIsNoSuccess,
	"prefixes":            namesArePrefixesOfNone,
	"one-session":         oneSessionHoldsANameOnce,
	"hundred-waiters":     onlyTwoOfAHundredWaitersWake,
	"far-back":            aPlaceFarBackIsNotLostInSilence,
	"who-holds":           whoeverWaitsBehindOthersLearnsWhoHolds,
	"order":               waitersAreServedInOrder,
	"dying-waiter":        aWaiterThatDiesPassesNothingOn,
	"deleted-waiter":      aWaiterWithoutItsNodeIsNotGranted,
	"readers-and-writers": readersAndWritersQueue,
	"lost-session":        aLostSessionEndsAllItsLeasesAndNoOthers,
	"expiry-in-the-queue": sessionExpiryWhileWaiting,
	"abandoned-session":   anAbandonedSessionsPlaceIsNobodys,
	"lost-reply-again":    aLostReplyIsNotThatOfAnEarlierSession,
	"denied":              whatStandsIsNotDenied,
}

func faultsOn(t *testing.T, servers ...string) {
	t.Helper()
	for name, fault := range faults {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fault(t, newNetwork(t, servers...))
		})
	}
}

// One server ends them well.
func TestFaults(t *testing.T) {
	t.Parallel()
	faultsOn(t, server(t))
}

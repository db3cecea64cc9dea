package zklock_test

import "testing"

// faults contains tests of faulty clients, connections and sessions, and of bugs that other lock libraries have. They
// run on one server and on three.
var faults = map[string]func(*testing.T, *network){
	"orphan":              noOrphanAtTheHeadOfTheQueue,
	"lost-reply":          lostReplyIsFound,
	"release-after-loss":  releaseAfterLossIsNoSuccess,
	"prefixes":            namesArePrefixesOfNone,
	"one-session":         oneSessionHoldsANameOnce,
	"hundred-waiters":     onlyOneOfAHundredWaitersWakes,
	"far-back":            waiterBehindOthersNoticesItsDeletion,
	"who-holds":           waiterBehindOthersLearnsTheHolder,
	"order":               waitersAreServedInOrder,
	"dying-waiter":        deadWaiterGrantsNothing,
	"deleted-waiter":      waiterWithoutItsNodeIsNotGranted,
	"readers-and-writers": readersAndWritersQueue,
	"lost-session":        lostSessionEndsItsLeasesOnly,
	"expiry-in-the-queue": sessionExpiryWhileWaiting,
	"abandoned-session":   abandonedNodeIsIgnored,
	"lost-reply-again":    lostReplyIsNotFoundInAnEarlierSession,
	"denied":              existingNodeIsNotDenied,
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

// The backend passes the tests of faults on one server.
func TestFaults(t *testing.T) {
	t.Parallel()
	faultsOn(t, server(t))
}

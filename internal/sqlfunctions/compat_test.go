package sqlfunctions_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/testenv"
)

// snapshotTests are the tests that TestCompatSnapshotIsolation runs again.
var snapshotTests map[string]func(*testing.T)

func init() { // a variable with this value would refer to itself
	snapshotTests = map[string]func(*testing.T){
		"TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel": TestACheckByAProcedureRefusesAStaleLeaseAtEveryLevel,
		"TestARefusedBeginLeavesNothing":                       TestARefusedBeginLeavesNothing,
		"TestAReleaseByAProcedureWakesAGoWaiter":               TestAReleaseByAProcedureWakesAGoWaiter,
		"TestASealByAProcedureWaitsForCheckedTransactions":     TestASealByAProcedureWaitsForCheckedTransactions,
		"TestASealOfAnotherLockByAProcedureIsRefused":          TestASealOfAnotherLockByAProcedureIsRefused,
		"TestAUserThatMayOnlyCheckWritesToAProtectedTable":     TestAUserThatMayOnlyCheckWritesToAProtectedTable,
		"TestBeginHoldsTheLockUntilTheTransactionEnds":         TestBeginHoldsTheLockUntilTheTransactionEnds,
		"TestBeginInsideATransactionFails":                     TestBeginInsideATransactionFails,
		"TestBeginTakesTheLockBeforeTheSnapshot":               TestBeginTakesTheLockBeforeTheSnapshot,
		"TestBeginWaits":                                       TestBeginWaits,
		"TestConformanceOfProcedures":                          TestConformanceOfProcedures,
		"TestGoAndProcedureWorkersTakeTurns":                   TestGoAndProcedureWorkersTakeTurns,
		"TestGoAndProceduresExcludeEachOther":                  TestGoAndProceduresExcludeEachOther,
		"TestParametersOfProceduresAreChecked":                 TestParametersOfProceduresAreChecked,
		"TestProceduresCompareTheNonce":                        TestProceduresCompareTheNonce,
		"TestProceduresOfLeasesFailInsideATransaction":         TestProceduresOfLeasesFailInsideATransaction,
		"TestProceduresRespectReadersPausesAndTransactions":    TestProceduresRespectReadersPausesAndTransactions,
		"TestReleasesReserveTheLockAcrossProceduresAndGo":      TestReleasesReserveTheLockAcrossProceduresAndGo,
		"TestTheCoreProceduresHaveTheRightsOfTheirCaller":      TestTheCoreProceduresHaveTheRightsOfTheirCaller,
		"TestTheGrantsOfTheProceduresAreWhatTheySay":           TestTheGrantsOfTheProceduresAreWhatTheySay,
		"TestTheProcedureAcquireWaitsAndIsBounded":             TestTheProcedureAcquireWaitsAndIsBounded,
		"TestTheProceduresAndAGuardRefuseEachOther":            TestTheProceduresAndAGuardRefuseEachOther,
		"TestTheProceduresBeginTheQuarantineOfANewServer":      TestTheProceduresBeginTheQuarantineOfANewServer,
		"TestTheProceduresRunTheStatementsOfTheBackends":       TestTheProceduresRunTheStatementsOfTheBackends,
	}
}

// The procedures do the same on MariaDB with innodb_snapshot_isolation.
func TestCompatSnapshotIsolation(t *testing.T) {
	for name, test := range snapshotTests {
		t.Run(name, func(t *testing.T) {
			testenv.Compat(t)
			test(t)
		})
	}
}

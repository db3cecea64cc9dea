package sqllock_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onEachEngine lists the tests that run on several engines, by name.
var onEachEngine = map[string]func(*testing.T){
	"TestARefusedAcquireSaysWhoHolds":                         TestARefusedAcquireSaysWhoHolds,
	"TestTheSameNonceGetsTheSameGrant":                        TestTheSameNonceGetsTheSameGrant,
	"TestTokensRise":                                          TestTokensRise,
	"TestAnExpiredLeaseIsFree":                                TestAnExpiredLeaseIsFree,
	"TestMinHoldKeepsAReleasedLockClosed":                     TestMinHoldKeepsAReleasedLockClosed,
	"TestHandoverDelayFollowsAnExpiryOnly":                    TestHandoverDelayFollowsAnExpiryOnly,
	"TestOneOfManyIsGranted":                                  TestOneOfManyIsGranted,
	"TestAnEndedContextAppliesNothing":                        TestAnEndedContextAppliesNothing,
	"TestTimeZonesDoNotMatter":                                TestTimeZonesDoNotMatter,
	"TestANewServerGrantsNothingForOneLongestTTL":             TestANewServerGrantsNothingForOneLongestTTL,
	"TestTheQuarantineIsNoLongerThanAnyLease":                 TestTheQuarantineIsNoLongerThanAnyLease,
	"TestAnEmptyTableHasNoQuarantine":                         TestAnEmptyTableHasNoQuarantine,
	"TestTheLongestTTLIsOnRecord":                             TestTheLongestTTLIsOnRecord,
	"TestInTxKeepsTheQuarantine":                              TestInTxKeepsTheQuarantine,
	"TestAHandOverIsRefusedWhereAnAcquireWouldBe":             TestAHandOverIsRefusedWhereAnAcquireWouldBe,
	"TestACrowdHandsOver":                                     TestACrowdHandsOver,
	"TestInspectTellsTheState":                                TestInspectTellsTheState,
	"TestListIsOrdered":                                       TestListIsOrdered,
	"TestForceRelease":                                        TestForceRelease,
	"TestForceReleaseOpensAClosedLock":                        TestForceReleaseOpensAClosedLock,
	"TestInTxHoldsTheLockUntilTheTransactionEnds":             TestInTxHoldsTheLockUntilTheTransactionEnds,
	"TestInTxLeavesALeaseAlone":                               TestInTxLeavesALeaseAlone,
	"TestInTxExcludesInTx":                                    TestInTxExcludesInTx,
	"TestInTxWaits":                                           TestInTxWaits,
	"TestInTxSeesTheWritesOfTheLastHolder":                    TestInTxSeesTheWritesOfTheLastHolder,
	"TestInTxRefusesBadNames":                                 TestInTxRefusesBadNames,
	"TestInTxTellsABrokenTransactionFromAHeldLock":            TestInTxTellsABrokenTransactionFromAHeldLock,
	"TestNamesAreExact":                                       TestNamesAreExact,
	"TestPauseIsARowThatStays":                                TestPauseIsARowThatStays,
	"TestLeasesOutliveAFullPool":                              TestLeasesOutliveAFullPool,
	"TestReleasesAtOnceInAFullPool":                           TestReleasesAtOnceInAFullPool,
	"TestALostReserveIsReplaced":                              TestALostReserveIsReplaced,
	"TestALossSaysThatThePoolWasFull":                         TestALossSaysThatThePoolWasFull,
	"TestRenewalsHaveTheirTurnInABusyPool":                    TestRenewalsHaveTheirTurnInABusyPool,
	"TestASealedGrantDrains":                                  TestASealedGrantDrains,
	"TestADrainHoldsUpNobodyElse":                             TestADrainHoldsUpNobodyElse,
	"TestASealedGrantOfAPrunedNameDrains":                     TestASealedGrantOfAPrunedNameDrains,
	"TestADrainIsBounded":                                     TestADrainIsBounded,
	"TestPruneForgetsWhatIsUnused":                            TestPruneForgetsWhatIsUnused,
	"TestPruningHurtsNoGrant":                                 TestPruningHurtsNoGrant,
	"TestAReleaseFreesAndMayBeRepeated":                       TestAReleaseFreesAndMayBeRepeated,
	"TestAReleaseEndsItsOwnGrantOnly":                         TestAReleaseEndsItsOwnGrantOnly,
	"TestAReleaseWithoutTokenTakesBackWhatTheNonceWasGranted": TestAReleaseWithoutTokenTakesBackWhatTheNonceWasGranted,
	"TestAnExpiredGrantCanBeReleased":                         TestAnExpiredGrantCanBeReleased,
	"TestAReleaseWaitsWithinItsContext":                       TestAReleaseWaitsWithinItsContext,
	"TestARenewalThatFailsNamesNoOtherLease":                  TestARenewalThatFailsNamesNoOtherLease,
	"TestABatchHasAnOutcomeForEachGrant":                      TestABatchHasAnOutcomeForEachGrant,
	"TestARenewalExtendsAndChangesNothingElse":                TestARenewalExtendsAndChangesNothingElse,
	"TestAThousandGrantsAreRenewedTogether":                   TestAThousandGrantsAreRenewedTogether,
	"TestALockedRowIsUnknownAndKeepsNobody":                   TestALockedRowIsUnknownAndKeepsNobody,
	"TestRenewalsOfOneGrantDoNotCollide":                      TestRenewalsOfOneGrantDoNotCollide,
	"TestTokensRiseOverARestoredBackup":                       TestTokensRiseOverARestoredBackup,
	"TestAMissingTableSaysWhatToDo":                           TestAMissingTableSaysWhatToDo,
	"TestAnOldTableSaysWhatToDo":                              TestAnOldTableSaysWhatToDo,
	"TestATableWithoutTicksSaysWhatToDo":                      TestATableWithoutTicksSaysWhatToDo,
	"TestAMissingMetaRowSaysWhatToDo":                         TestAMissingMetaRowSaysWhatToDo,
	"TestATableOfAnyName":                                     TestATableOfAnyName,
	"TestCapabilitiesAreDeclared":                             TestCapabilitiesAreDeclared,
	"TestAGrantSeals":                                         TestAGrantSeals,
	"TestOnlyGrantsSeal":                                      TestOnlyGrantsSeal,
	"TestAGrantSealsNoMarkThatIsAhead":                        TestAGrantSealsNoMarkThatIsAhead,
	"TestAGrantNeedsNoMark":                                   TestAGrantNeedsNoMark,
	"TestMySQLGrantsSealNothing":                              TestMySQLGrantsSealNothing,
	"TestASealedGrantKeepsTheQuarantine":                      TestASealedGrantKeepsTheQuarantine,
	"TestInTxExcludesReaders":                                 TestInTxExcludesReaders,
	"TestEachRefusalCountsTheReaders":                         TestEachRefusalCountsTheReaders,
	"TestAnExclusiveGrantForgetsTheReaders":                   TestAnExclusiveGrantForgetsTheReaders,
	"TestReadersNeverOverlapWriters":                          TestReadersNeverOverlapWriters,
	"TestAllWaitingReadersGetIn":                              TestAllWaitingReadersGetIn,
	"TestAWaitingWriterKeepsReadersOut":                       TestAWaitingWriterKeepsReadersOut,
	"TestManyReadersRenewTogether":                            TestManyReadersRenewTogether,
	"TestReadersKeepOutTransactionsAndPrune":                  TestReadersKeepOutTransactionsAndPrune,
	"TestGrantsNeverOverlap":                                  TestGrantsNeverOverlap,
}

// "make compat" runs these tests on all handles, poolers and settings on which "make test" does not run them.
func TestCompatBackends(t *testing.T) {
	for name, test := range onEachEngine {
		t.Run(name, test)
	}
}

var (
	testFunction = regexp.MustCompile(`(?ms)^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}\n`)
	onEngines    = regexp.MustCompile(`\b(each(Backend|Setting|Sealer|Postgres|Of|SmallPool)|busyPool|inCompat)\(`)
)

// The list contains each test that runs on several engines, so that none is missing in "make compat".
func TestTheListOfTestsOnEachEngineIsComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, f := range testFunction.FindAllStringSubmatch(string(text), -1) {
			if onEngines.MatchString(f[2]) {
				found[f[1]] = true
			}
		}
	}
	require.NotEmpty(t, found)
	for name := range found {
		assert.Contains(t, onEachEngine, name)
	}
	assert.Len(t, onEachEngine, len(found))
}

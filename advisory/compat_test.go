package advisory_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onEachPool lists the tests that run with several kinds of pools or poolers, by name.
var onEachPool = map[string]func(*testing.T){
	"TestSessionPoolerIsProbed":                TestSessionPoolerIsProbed,
	"TestReadOnlyIsRefused":                    TestReadOnlyIsRefused,
	"TestInspector":                            TestInspector,
	"TestInTx":                                 TestInTx,
	"TestInTxWaits":                            TestInTxWaits,
	"TestTerminatedBackend":                    TestTerminatedBackend,
	"TestCutConnection":                        TestCutConnection,
	"TestBlackHole":                            TestBlackHole,
	"TestALostReplyIsNoLoss":                   TestALostReplyIsNoLoss,
	"TestQueue":                                TestQueue,
	"TestACancelledWait":                       TestACancelledWait,
	"TestAWaitThatTheServerCancels":            TestAWaitThatTheServerCancels,
	"TestAnAttemptWithoutANumberLeavesNothing": TestAnAttemptWithoutANumberLeavesNothing,
	"TestAWaitWithoutANumberLeavesNothing":     TestAWaitWithoutANumberLeavesNothing,
	"TestManyNamesOnFewConnections":            TestManyNamesOnFewConnections,
	"TestAPooledConnectionHoldsNothing":        TestAPooledConnectionHoldsNothing,
	"TestUnlockWithACancelledContext":          TestUnlockWithACancelledContext,
	"TestAnswerOfAnUnlockIsChecked":            TestAnswerOfAnUnlockIsChecked,
	"TestARepeatedAcquireIsProven":             TestARepeatedAcquireIsProven,
	"TestSharesOnOneSession":                   TestSharesOnOneSession,
	"TestAWriterIsNotOvertaken":                TestAWriterIsNotOvertaken,
	"TestATunnelWithoutDeadlines":              TestATunnelWithoutDeadlines,
}

// "make compat" runs these tests with all kinds of pools and poolers with which "make test" does not run them.
func TestCompatPools(t *testing.T) {
	for name, test := range onEachPool {
		t.Run(name, test)
	}
}

var (
	testFunction = regexp.MustCompile(`(?ms)^func (Test\w+)\(t \*testing\.T\) \{\n(.*?)^\}\n`)
	onPools      = regexp.MustCompile(`\b(eachPool|eachTx|watched|inCompat)\(`)
)

// The list contains each test that runs with several kinds of pools, so that none is missing in "make compat".
func TestTheListOfTestsOnEachPoolIsComplete(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*_test.go")
	require.NoError(t, err)
	found := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, f := range testFunction.FindAllStringSubmatch(string(text), -1) {
			if onPools.MatchString(f[2]) {
				found[f[1]] = true
			}
		}
	}
	require.NotEmpty(t, found)
	for name := range found {
		assert.Contains(t, onEachPool, name)
	}
	assert.Len(t, onEachPool, len(found))
}

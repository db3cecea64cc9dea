package testenv

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// The shares of "make compat" together run every test exactly once, and none of them is empty.
func TestSharesPartitionTheTests(t *testing.T) {
	t.Parallel()
	counts := [3]int{}
	for i := range 300 {
		name, found := fmt.Sprintf("TestCompatConformance/handle-%d", i), 0
		for part := range counts {
			in, err := inShare(name, fmt.Sprintf("%d/3", part+1))
			require.NoError(t, err)
			if in {
				found++
				counts[part]++
			}
		}
		require.Equal(t, 1, found, name)
	}
	for _, n := range counts {
		require.Greater(t, n, 60, "%v", counts)
	}
}

// A share that means nothing is an error, so that a mistyped share does not skip every test.
func TestAShareThatMeansNothingIsRefused(t *testing.T) {
	t.Parallel()
	for _, share := range []string{"0/3", "4/3", "some", "1", "1/0", "-1/3", "/"} {
		_, err := inShare("TestX", share)
		require.ErrorContains(t, err, "ROWLOCK_COMPAT", share)
	}
	for share, want := range map[string]bool{"": false, "all": true, "1/1": true} {
		in, err := inShare("TestX", share)
		require.NoError(t, err)
		require.Equal(t, want, in, share)
	}
}

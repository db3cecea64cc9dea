package fence

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// busy is the error for a file that another connection has locked.
type busy struct{}

func (busy) Error() string { return "the file is busy" }
func (busy) Code() int     { return 5 }

// While the file is busy, untilFree repeats the call until ctx ends. If ctx then interrupts an attempt, the error says
// that the file was busy. If an attempt succeeds although ctx has ended, untilFree succeeds.
func TestABusyFileIsAskedForAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answers []error
		ends    int // the number of the attempt in which ctx ends; 0 if it does not end
		want    error
	}{
		"it becomes free":                 {answers: []error{busy{}, busy{}, nil}},
		"it fails otherwise":              {answers: []error{busy{}, errOldSnapshot}, want: errOldSnapshot},
		"interrupted when it was free":    {answers: []error{context.Canceled}, ends: 1, want: context.Canceled},
		"interrupted when it was busy":    {answers: []error{busy{}, context.Canceled}, ends: 2, want: busy{}},
		"ctx ends while it works":         {answers: []error{busy{}, nil}, ends: 2},
		"ctx ends while it is still busy": {answers: []error{busy{}}, ends: 1, want: busy{}},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		tries := 0
		err := untilFree(ctx, func() error {
			require.Less(t, tries, len(c.answers), name)
			tries++
			if tries == c.ends {
				cancel()
			}
			return c.answers[tries-1]
		})
		cancel()
		assert.Equal(t, c.want, err, name)
		assert.Len(t, c.answers, tries, name)
	}
}

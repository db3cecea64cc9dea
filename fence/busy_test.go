package fence

import (
	"context"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// busy is the error of a file that another connection has.
type busy struct{}

func (busy) Error() string { return "the file is busy" }
func (busy) Code() int     { return 5 }

// A file that is busy is asked for again until ctx ends, and the error is then that it was busy. What has worked is no error,
// and what has not is one, also when ctx has ended meanwhile.
func TestABusyFileIsAskedForAgain(t *testing.T) {
	for name, c := range map[string]struct {
		answers []error
		ends    int // ctx, in this try
		want    error
	}{
		"it becomes free":               {answers: []error{busy{}, busy{}, nil}},
		"it fails otherwise":            {answers: []error{busy{}, errOldSnapshot}, want: errOldSnapshot},
		"interrupted when it was free":  {answers: []error{context.Canceled}, ends: 1, want: context.Canceled},
		"interrupted when it was busy":  {answers: []error{busy{}, context.Canceled}, ends: 2, want: busy{}},
		"ctx ends while it works":       {answers: []error{busy{}, nil}, ends: 2},
		"ctx ends while it is busy yet": {answers: []error{busy{}}, ends: 1, want: busy{}},
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

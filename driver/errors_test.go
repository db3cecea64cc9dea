package driver_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

// The text of a refusal contains only values that the store reported.
func TestHeldReportsOnlyKnownValues(t *testing.T) {
	for want, held := range map[string]driver.Held{
		"locked by another transaction":                             {Reason: driver.Contended},
		`held: holder "h\n"`:                                        {Holder: "h\n"},
		`locked by another transaction: last holder "job", token 7`: {Reason: driver.Contended, Holder: "job", Token: 7},
		"held: token 7":                                             {Token: 7},
		"closed after a change of server: free in 3s":               {Reason: driver.Quarantine, ExpiresIn: 3 * time.Second},
		`held: holder "job", token 7, free in 1m0s`:                 {Holder: "job", Token: 7, ExpiresIn: time.Minute},
		`paused: holder "ops", token 7, free in 300ms`:              {Reason: driver.Paused, Holder: "ops", Token: 7, ExpiresIn: 300 * time.Millisecond},
	} {
		assert.EqualError(t, &held, want)
	}
}

// A marked error keeps its text and its cause. IsNotApplied and IsPermanent recognise the mark even if the error is
// wrapped.
func TestFailuresSayWhetherTheyHadAnEffect(t *testing.T) {
	cause := errors.New("no such table")
	for _, c := range []struct {
		err                   error
		notApplied, permanent bool
	}{
		{cause, false, false},
		{driver.NotApplied(cause), true, false},
		{driver.Permanent(cause), true, true},
	} {
		for _, err := range []error{c.err, fmt.Errorf("wrapped: %w", c.err)} {
			assert.Equal(t, c.notApplied, driver.IsNotApplied(err), "%#v", err)
			assert.Equal(t, c.permanent, driver.IsPermanent(err), "%#v", err)
			assert.ErrorIs(t, err, cause)
		}
		assert.EqualError(t, c.err, "no such table")
	}
}

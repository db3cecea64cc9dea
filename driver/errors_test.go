package driver_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/driver"
)

// The error of a refusal has no part that the store did not tell.
func TestHeldSaysOnlyWhatIsKnown(t *testing.T) {
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

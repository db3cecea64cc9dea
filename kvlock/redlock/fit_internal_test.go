package redlock

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/kvlock/internal/redisbase"
)

// The backend inserts a server's run id into the text of scripts. So it refuses a server if the run id has characters
// other than letters and digits.
func TestARunIDOfOtherCharactersIsRefused(t *testing.T) {
	t.Parallel()
	for id, fits := range map[string]bool{
		"7f3c0d9e5a1b4c2d8e6f7a9b0c1d2e3f4a5b6c7d": true, "": false, "a'": false, "a\nreturn 1": false, "a b": false,
	} {
		err := refusal(redisbase.Info{"run_id": id, "redis_version": "7.4.0", "role": "master"})
		if fits {
			assert.NoError(t, err, "%q", id)
		} else {
			assert.ErrorContains(t, err, "run_id", "%q", id)
		}
	}
}

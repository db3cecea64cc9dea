package terminal

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A duration in JSON has at most six decimal places, and no digits from rounding errors.
func TestSecondsOfJSON(t *testing.T) {
	t.Parallel()
	for micros := range int64(5_000_000) {
		if micros%1009 == 0 {
			text, err := json.Marshal(Seconds(time.Duration(micros) * time.Microsecond))
			require.NoError(t, err)
			require.LessOrEqual(t, len(text), len("1.234567"), string(text))
		}
	}
	assert.InDelta(t, 2.28, Seconds(2280*time.Millisecond), 0)
}

func TestSpan(t *testing.T) {
	t.Parallel()
	for d, want := range map[time.Duration]string{
		-time.Second: "0s", 0: "0s", 40 * time.Millisecond: "0s", 9940 * time.Millisecond: "9.9s", 95 * time.Second: "1m35s",
		90*time.Minute + 3*time.Second: "1h30m", 50 * time.Hour: "2d2h",
	} {
		assert.Equal(t, want, Span(d))
	}
}

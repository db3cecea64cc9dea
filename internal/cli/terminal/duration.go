package terminal

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Forever means that there is no limit. On the command line it is written as inf.
const Forever = time.Duration(math.MaxInt64)

// ErrDuration is the error for a malformed duration.
var ErrDuration = errors.New("write a number with a unit, such as 500ms, 30s, 5m, 2h or 30d")

// ParseDuration parses the format of time.ParseDuration, optionally after a number of whole days: 30d, 1d12h.
func ParseDuration(s string) (time.Duration, error) {
	days, rest, found := strings.Cut(s, "d")
	if !found {
		return time.ParseDuration(s)
	}
	const most = int64(Forever / (24 * time.Hour))
	n, err := strconv.ParseUint(days, 10, 32)
	if err != nil || int64(n) >= most {
		return 0, ErrDuration
	}
	d := time.Duration(n) * 24 * time.Hour
	if rest == "" {
		return d, nil
	}
	more, err := time.ParseDuration(rest)
	if err != nil || more < 0 || more > Forever-d {
		return 0, ErrDuration
	}
	return d + more, nil
}

// Seconds returns a duration in seconds for JSON, truncated to microseconds. Duration.Seconds would return numbers such
// as 2.2800000000000002.
func Seconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1e6 }

// Span returns a duration as text for people, with at most two units.
func Span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < 0:
		return "0s"
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Round(time.Second).String()
	case d < day:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	default:
		return fmt.Sprintf("%dd%dh", d/day, d%day/time.Hour)
	}
}

//go:build race

package simulate_test

// raced reports whether the race detector is on. It makes schedules many times slower, and searches for other
// errors.
const raced = true

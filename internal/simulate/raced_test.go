//go:build race

package simulate_test

// raced is whether the race detector watches: it makes schedules many times dearer, and it looks for something else.
const raced = true

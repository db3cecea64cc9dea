//go:build race

package simulate_test

// raced reports whether the race detector is on. The race detector makes schedules many times slower,
// so the tests run fewer of them.
const raced = true

//go:build race

package fence_test

// raced is whether the race detector watches, under which all takes several times as long.
const raced = true

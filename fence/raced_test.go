//go:build race

package fence_test

// raced says whether the race detector is on, which makes everything several times slower.
const raced = true

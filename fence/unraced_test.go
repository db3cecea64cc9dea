//go:build !race

package fence_test

const raced = false

//go:build !race

package rowlock_test

const raced = false

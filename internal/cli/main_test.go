package cli

import (
	"os"
	"testing"

	"github.com/rowlock/rowlock/internal/leaks"
)

// TestMain lets the test binary be the guard of a command that a test runs.
func TestMain(m *testing.M) {
	if isGuard(os.Args[1:]) {
		os.Exit(beGuard(os.Stdin))
	}
	leaks.Main(m)
}

package cli

import (
	"os"
	"testing"

	"github.com/rowlock/rowlock/internal/cli/child"
	"github.com/rowlock/rowlock/internal/leaks"
)

// TestMain lets the test binary be the guard of a command that a test runs.
func TestMain(m *testing.M) {
	if child.IsGuard(os.Args[1:]) {
		os.Exit(child.BeGuard(os.Stdin))
	}
	leaks.Main(m)
}

package cli

import (
	"os"
	"testing"

	"github.com/rowlock/rowlock/internal/cli/child"
	"github.com/rowlock/rowlock/internal/leaks"
)

// TestMain runs the guard process if a test has started the test binary as the guard of a command.
func TestMain(m *testing.M) {
	if child.IsGuard(os.Args[1:]) {
		os.Exit(child.BeGuard(os.Stdin))
	}
	leaks.Main(m)
}

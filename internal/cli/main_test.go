package cli

import (
	"testing"

	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

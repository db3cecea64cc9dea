// Package compat_test runs rowlock with what its users may bring along, and what it does not depend on itself.
package compat_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

// Package compat_test runs rowlock with what its users may bring along, and what it does not depend on itself.
package compat_test

import (
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// Package compat_test tests rowlock with drivers and versions that users of rowlock may have. rowlock itself does not depend on
// them.
package compat_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

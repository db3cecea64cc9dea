// Package compat_test tests rowlock with drivers and versions that its users may have and that rowlock itself does not depend on.
package compat_test

import (
	"testing"

	"github.com/rowlock/rowlock/internal/leaks"
)

func TestMain(m *testing.M) { leaks.Main(m) }

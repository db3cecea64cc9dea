package memlock_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/rowlock/rowlock/internal/inprocess"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/memlock"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newHarness(testing.TB) locktest.Harness { return inprocess.New(memlock.New()) }

// memlock passes every test of the conformance suite, and no test is skipped.
func TestConformance(t *testing.T) { locktest.Run(t, newHarness) }

func BenchmarkConformance(b *testing.B) { locktest.Bench(b, newHarness) }

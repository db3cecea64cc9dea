package locktest_test

import (
	"context"
	"testing"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/locktest"
	"github.com/rowlock/rowlock/memlock"
)

// shop opens clients of one store. In this example each client is the store itself.
type shop struct{ store *memlock.Backend }

func (s shop) Open(context.Context) (driver.Backend, error) { return s.store, nil }
func (shop) Close(driver.Backend) error                     { return nil }

// This is the complete test of a backend. In a real program it is a function TestConformance(t *testing.T).
func ExampleRun() {
	testConformance := func(t *testing.T) {
		locktest.Run(t, func(testing.TB) locktest.Harness { return shop{memlock.New()} })
	}
	_ = testConformance
}

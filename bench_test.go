package rowlock_test

import (
	"testing"

	"github.com/rowlock/rowlock"
	"github.com/rowlock/rowlock/memlock"
)

// BenchmarkAcquireRelease measures the cost of the engine alone, on a store in memory.
func BenchmarkAcquireRelease(b *testing.B) {
	l, err := rowlock.New(memlock.New())
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	b.ReportAllocs()
	for b.Loop() {
		lease, err := l.Acquire(background, "a")
		if err != nil {
			b.Fatal(err)
		}
		if err := lease.Release(background); err != nil {
			b.Fatal(err)
		}
	}
}

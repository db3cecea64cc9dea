package crew_test

import (
	"runtime"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/rowlock/rowlock/internal/crew"
)

// Together calls the function once for each number, and returns when all calls have ended.
func TestTogetherCallsAll(t *testing.T) {
	var sum atomic.Int32
	crew.Together(10, func(i int) { sum.Add(int32(i)) }, func() { t.Error("no call panicked") })
	assert.EqualValues(t, 45, sum.Load())
	crew.Together(0, func(int) { t.Error("called") }, nil)
	crew.Together(1, func(int) { sum.Add(1) }, func() { t.Error("no call panicked") })
	assert.EqualValues(t, 46, sum.Load())
}

// A panic of one call reaches the caller of Together after the other calls have ended.
func TestTogetherPassesAPanicOn(t *testing.T) {
	var others atomic.Int32
	stop := make(chan struct{})
	assert.PanicsWithValue(t, "trace", func() {
		crew.Together(3, func(i int) {
			if i == 1 {
				panic("trace")
			}
			<-stop
			others.Add(1)
		}, func() { close(stop) })
	})
	assert.EqualValues(t, 2, others.Load())
	ended := false
	assert.PanicsWithValue(t, "alone", func() { crew.Together(1, func(int) { panic("alone") }, func() { ended = true }) })
	assert.True(t, ended)
}

// If one call ends its goroutine, the goroutine of the caller ends, too. For example, a failed assertion of a test ends
// its goroutine.
func TestTogetherEndsTheCallersGoroutine(t *testing.T) {
	over := make(chan bool)
	go func() {
		returned := false
		defer func() { over <- returned }()
		crew.Together(2, func(i int) {
			if i == 0 {
				runtime.Goexit()
			}
		}, func() {})
		returned = true
	}()
	assert.False(t, <-over)
}

// InTurn makes all calls in order, also if one of them panics.
func TestInTurnMakesAllCalls(t *testing.T) {
	var made []int
	crew.InTurn(3, func(i int) { made = append(made, i) })
	assert.Equal(t, []int{0, 1, 2}, made)
	assert.PanicsWithValue(t, "trace", func() {
		crew.InTurn(3, func(i int) {
			made = append(made, i)
			if i == 0 {
				panic("trace")
			}
		})
	})
	assert.Equal(t, []int{0, 1, 2, 0, 1, 2}, made)
}

package sqlite

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
)

// A writer waits for the turn of another writer of its process, but only for turnWait.
func TestWritersOfOneProcessTakeTurns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &file{turn: make(chan struct{}, 1)}
		end := f.takeTurn(t.Context())
		begin := time.Now()
		time.AfterFunc(time.Millisecond, end)
		end = f.takeTurn(t.Context())
		assert.Equal(t, time.Millisecond, time.Since(begin), "the turn ends with the first writer")

		begin = time.Now()
		f.takeTurn(t.Context())() // does not give a turn back, because it got none
		assert.Equal(t, turnWait, time.Since(begin))
		assert.Len(t, f.turn, 1, "the turn still belongs to the second writer")
		end()
		assert.Empty(t, f.turn)

		end = f.takeTurn(t.Context())
		defer end()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		begin = time.Now()
		f.takeTurn(ctx)()
		assert.Zero(t, time.Since(begin), "a cancelled writer does not wait")
	})
}

package cli

import (
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	"github.com/rowlock/rowlock"
)

// waiting tells whom a command waits for: once, and on a terminal for how long, in a line that is drawn again
// every second.
type waiting struct {
	log    *messages
	screen io.Writer // nil where nothing is drawn
	width  int
	limit  time.Duration                 // of the wait; forever without one, zero if there is none
	itself func(*rowlock.HeldError) bool // ends the wait if this process runs under the lock that it waits for

	mu      sync.Mutex
	began   time.Time // zero before the first refusal
	refusal string
	stop    chan struct{}
	drawing sync.WaitGroup
}

func (a *app) newWaiting(limit time.Duration) *waiting {
	w := &waiting{log: a.log, limit: limit}
	if a.format == formatText && !a.quiet {
		if w.width = screenWidth(a.std.Err); w.width > 0 {
			w.screen = a.std.Err
		}
	}
	return w
}

// heldByOther is for the trace of a call that withoutItself has prepared.
func (w *waiting) heldByOther(e rowlock.HeldByOtherEvent) {
	if !w.itself(e.Held) {
		w.refused(plain(e.Held), heldAttrs(e.Held))
	}
}

// refused is told of every refusal: a sentence, and the same for collectors.
func (w *waiting) refused(sentence string, attrs []slog.Attr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal = sentence
	if w.limit == 0 || !w.began.IsZero() {
		return
	}
	w.began = time.Now()
	until := "waiting"
	if w.limit != forever {
		until = fmt.Sprintf("waiting for up to %s", w.limit)
	}
	w.log.say(levelNotice, "waiting", until+": "+sentence, attrs...)
	if w.screen != nil {
		w.stop = make(chan struct{})
		w.drawing.Go(w.draw)
	}
}

const (
	clearLine   = "\r\x1b[K"
	clearScreen = "\x1b[H\x1b[J"
)

func (w *waiting) draw() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			_, _ = io.WriteString(w.screen, clearLine)
			return
		case <-ticker.C:
			w.mu.Lock()
			line := fmt.Sprintf("rowlock: waiting for %s: %s", span(time.Since(w.began).Round(time.Second)), w.refusal)
			w.mu.Unlock()
			_, _ = io.WriteString(w.screen, clearLine+fit(line, w.width-1))
		}
	}
}

// end clears the line away, so that others can be written. Nothing is told afterwards.
func (w *waiting) end() {
	w.mu.Lock()
	stop := w.stop
	w.stop, w.limit = nil, 0
	w.mu.Unlock()
	if stop != nil {
		close(stop)
		w.drawing.Wait()
	}
}

// fit cuts a line to what a terminal shows in one.
func fit(line string, width int) string {
	shown := still(line)
	if runes := []rune(shown); len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return shown
}

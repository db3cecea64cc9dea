package terminal

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Waiting tells whom a command waits for: once, and on a terminal for how long, in a line that is drawn again
// every second.
type Waiting struct {
	log    *Messages
	screen io.Writer // nil where nothing is drawn
	width  int
	limit  time.Duration // of the wait; forever without one, zero if there is none

	mu      sync.Mutex
	began   time.Time // zero before the first refusal
	refusal string
	stop    chan struct{}
	drawing sync.WaitGroup
}

// NewWaiting draws on screen if that is a terminal; nil: it draws nothing.
func NewWaiting(log *Messages, screen *os.File, limit time.Duration) *Waiting {
	w := &Waiting{log: log, limit: limit}
	if screen != nil {
		if w.width = Width(screen); w.width > 0 {
			w.screen = screen
		}
	}
	return w
}

// Refused is told of every refusal: a sentence, and the same for collectors.
func (w *Waiting) Refused(sentence string, attrs []slog.Attr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.refusal = sentence
	if w.limit == 0 || !w.began.IsZero() {
		return
	}
	w.began = time.Now()
	until := "waiting"
	if w.limit != Forever {
		until = fmt.Sprintf("waiting for up to %s", w.limit)
	}
	w.log.Say(Notice, "waiting", until+": "+sentence, attrs...)
	if w.screen != nil {
		w.stop = make(chan struct{})
		w.drawing.Go(w.draw)
	}
}

const clearLine = "\r\x1b[K"

func (w *Waiting) draw() {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			_, _ = io.WriteString(w.screen, clearLine)
			return
		case <-ticker.C:
			w.mu.Lock()
			line := fmt.Sprintf("rowlock: waiting for %s: %s", Span(time.Since(w.began).Round(time.Second)), w.refusal)
			w.mu.Unlock()
			_, _ = io.WriteString(w.screen, clearLine+fit(line, w.width-1))
		}
	}
}

// End clears the line away, so that others can be written. Nothing is told afterwards.
func (w *Waiting) End() {
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
	shown := Still(line)
	if runes := []rune(shown); len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return shown
}

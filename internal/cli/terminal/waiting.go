package terminal

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync"
	"time"
)

// Waiting shows who holds the lock while a command waits for it. It writes one message. On a terminal it also draws a
// line that is updated every second and shows how long the wait has lasted.
type Waiting struct {
	log    *Messages
	screen io.Writer // the terminal; nil if no line is drawn
	width  int
	limit  time.Duration // the time limit of the wait: Forever if there is no limit, zero if the command does not wait

	mu      sync.Mutex
	began   time.Time // when the first attempt was refused; zero before that
	refusal string
	stop    chan struct{}
	drawing sync.WaitGroup
}

// NewWaiting returns a Waiting that draws on screen if screen is a terminal. If screen is nil, it draws no line.
func NewWaiting(log *Messages, screen *os.File, limit time.Duration) *Waiting {
	w := &Waiting{log: log, limit: limit}
	if screen != nil {
		if w.width = Width(screen); w.width > 0 {
			w.screen = screen
		}
	}
	return w
}

// Refused shows that an attempt was refused. The sentence, which says who holds the lock, is for people,
// and attrs are for log collectors.
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

// End clears the line, so that other output can follow. Later calls of Refused have no effect.
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

// fit shortens a line to the width of the terminal.
func fit(line string, width int) string {
	shown := Still(line)
	if runes := []rune(shown); len(runes) > width {
		return string(runes[:max(width-1, 0)]) + "…"
	}
	return shown
}

package redlock

import "sync"

// work counts running calls and goroutines. The zero value is ready to use.
type work struct {
	mu      sync.Mutex
	closed  bool
	running int
	idle    chan struct{} // closed when nothing is running; nil unless a goroutine waits for that
}

// begin counts a call. It returns false if the work was closed.
func (w *work) begin() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.running++
	return true
}

func (w *work) done() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.running--
	if w.running == 0 && w.idle != nil {
		close(w.idle)
		w.idle = nil
	}
}

// run runs f in a goroutine, and counts it. The caller must already be counted.
func (w *work) run(f func()) {
	w.mu.Lock()
	w.running++
	w.mu.Unlock()
	go func() {
		defer w.done()
		f()
	}()
}

// wait returns when nothing is running.
func (w *work) wait() {
	w.mu.Lock()
	if w.running == 0 {
		w.mu.Unlock()
		return
	}
	if w.idle == nil {
		w.idle = make(chan struct{})
	}
	idle := w.idle
	w.mu.Unlock()
	<-idle
}

func (w *work) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.wait()
}

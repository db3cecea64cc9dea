package system

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Signals are the signals sent to rowlock that are meant for the command.
type Signals struct {
	C     chan os.Signal
	pipes chan os.Signal // never read
}

// CatchSignals catches the signals that are forwarded. A signal that was ignored, such as HUP under nohup, stays
// ignored.
func CatchSignals() *Signals {
	s := &Signals{
		C:     make(chan os.Signal, 32), // more signals than a person sends before they are read
		pipes: make(chan os.Signal, 1),
	}
	s.catch(forwarded...)
	// SIGPIPE must not end rowlock while its command runs, if the reader of a message has gone. It is caught, and not
	// ignored, because the command would inherit that.
	signal.Notify(s.pipes, syscall.SIGPIPE)
	return s
}

func (s *Signals) catch(which ...os.Signal) {
	for _, sig := range which {
		if !signal.Ignored(sig) {
			signal.Notify(s.C, sig)
		}
	}
}

// Release stops catching the signals, except SIGPIPE, because the last message has not been written yet.
func (s *Signals) Release() { signal.Stop(s.C) }

// During returns a context that ends with the first signal that ends a wait. Other signals are dropped, because there
// is no command yet. The returned function ends that and returns the signal, or nil if there was none.
func (s *Signals) During(ctx context.Context) (context.Context, func() os.Signal) {
	ctx, cancel := context.WithCancel(ctx)
	var got os.Signal
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case sig := <-s.C:
				if slices.Contains(ending, sig) {
					got = sig
					cancel()
					return
				}
			case <-ctx.Done():
				return
			}
		}
	}()
	return ctx, func() os.Signal {
		cancel()
		<-done
		return got
	}
}

// Number returns the signal's number for an exit code.
func Number(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return int(s)
	}
	return 0
}

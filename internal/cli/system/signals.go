package system

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Signals are those sent to rowlock that are meant for the command.
type Signals struct {
	C     chan os.Signal
	pipes chan os.Signal // nobody reads it
}

// CatchSignals catches what is forwarded. What is ignored, as HUP is under nohup, stays ignored.
func CatchSignals() *Signals {
	s := &Signals{
		C:     make(chan os.Signal, 32), // more than a person sends while nobody looks
		pipes: make(chan os.Signal, 1),
	}
	s.catch(forwarded...)
	// A message that nobody reads any more is no reason to die and leave the command alone. Caught,
	// and not ignored, because the command would inherit that.
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

// Release gives the signals back to the system, but not SIGPIPE, because the last message has yet to be written.
func (s *Signals) Release() { signal.Stop(s.C) }

// During returns a context that ends with the first signal that ends a wait; others have nobody to
// go to and are dropped. The function ends that and returns the signal, nil if there was none.
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

// Number is the signal's number in an exit code.
func Number(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return int(s)
	}
	return 0
}

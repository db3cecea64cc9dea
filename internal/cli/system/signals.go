package system

import (
	"context"
	"os"
	"os/signal"
	"slices"
	"syscall"
)

// Signals catches the signals that rowlock receives and forwards to the command.
type Signals struct {
	C     chan os.Signal
	pipes chan os.Signal // never read
}

// CatchSignals starts to catch the signals that are forwarded to the command. A signal that was ignored at the start,
// such as HUP under nohup, stays ignored.
func CatchSignals() *Signals {
	s := &Signals{
		// Go drops a signal if the channel is full. 32 signals are more than a person can send before rowlock reads
		// them.
		C:     make(chan os.Signal, 32),
		pipes: make(chan os.Signal, 1),
	}
	s.catch(forwarded...)
	// If the program that reads rowlock's messages ends, the next message causes SIGPIPE. That signal must not end
	// rowlock while its command runs. rowlock catches SIGPIPE and does not ignore it, because the command would inherit
	// an ignored signal.
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

// Release stops catching the signals. It keeps catching SIGPIPE, because rowlock may still write a last message.
func (s *Signals) Release() { signal.Stop(s.C) }

// During returns a context for a wait. The first signal of the list ending ends this context. Other signals are
// dropped, because no command runs yet. Call the returned function after the wait. It stops reading signals, and
// returns the signal that has ended the context, or nil if no signal has.
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

// Number returns the number of the signal, which is part of the exit code.
func Number(sig os.Signal) int {
	if s, ok := sig.(syscall.Signal); ok {
		return int(s)
	}
	return 0
}

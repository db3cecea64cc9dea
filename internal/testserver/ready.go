package testserver

import (
	"context"
	"errors"
	"fmt"
	"time"
)

var (
	errDied     = errors.New("the server ended before it answered")
	errStranger = errors.New("another server answers on its port")
)

// runUntilReady starts the server and polls until the server answers or ends, or the time limit is over.
func runUntilReady(ctx context.Context, e engine, f *folder, port int, o Options) (*process, error) {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	p, err := startProcess(e.command(f, port, o), f)
	if err != nil {
		return nil, err
	}
	if err := p.awaitReady(ctx, e, e.dsn(port), f); err != nil {
		p.end()
		return nil, err
	}
	return p, nil
}

func (p *process) awaitReady(ctx context.Context, e engine, dsn string, f *folder) error {
	for {
		ours, err := p.ask(ctx, func(ctx context.Context) (bool, error) { return e.identify(ctx, dsn, f) })
		switch {
		case err == nil && ours:
			return nil
		case err == nil:
			return errStranger
		}
		select {
		case <-p.done:
			return fmt.Errorf("%w: %v", errDied, p.err)
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", errors.Join(ctx.Err(), err))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// ask calls the function question with a time limit, and cancels it when the server has ended. Another process may then
// use the port and never answer.
func (p *process) ask(ctx context.Context, question func(context.Context) (bool, error)) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	go func() {
		select {
		case <-p.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	return question(ctx)
}

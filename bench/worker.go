package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"
)

// workerVariable is the environment variable that makes this program a process of a crowd.
const workerVariable = "ROWLOCK_BENCH_WORKER"

// hold is how long each holder keeps the lock.
const hold = time.Millisecond

// These are the roles that a worker process can have.
const (
	relayRole = "relay" // all members repeatedly acquire, hold for a moment and release
	keepRole  = "keep"  // the member acquires once, and reports when it loses the lock
	parkRole  = "park"  // the first holder waits for the command free; then each member acquires, holds for a moment and releases once
	manyRole  = "many"  // the process holds one lease for each member, each with its own name
)

// job is the first line that a worker reads.
type job struct {
	Store, Lock string
	At          []string
	Apart       bool // each process uses only one of the addresses
	Task        task
	Role        string
	First       int // number of the worker's first member
}

// worker is one process of a crowd. It writes each event as a line with the kind of event, the member, the time and the slot.
// It reads the commands start, go, free, greedy and stop, one per line. The command "go" has the number of a member
// that may request the lock again, because another member has acquired it.
type worker struct {
	job    job
	out    io.Writer
	mu     sync.Mutex
	passed []chan struct{} // one channel for each member; a value in it lets the member request the lock again
	free   chan struct{}   // closed by the command free
	greedy chan struct{}   // closed by the command greedy; after that, members request the lock again immediately
}

// work is the main function of a worker.
func work(in io.Reader, out io.Writer) error {
	commands := bufio.NewScanner(in)
	w := &worker{out: out, free: make(chan struct{}), greedy: make(chan struct{})}
	if !commands.Scan() {
		return errors.New("the worker got no job")
	}
	if err := json.Unmarshal(commands.Bytes(), &w.job); err != nil {
		return err
	}
	s, _ := storeOf(w.job.Store)
	l, ok := s.lock(w.job.Lock)
	if !ok {
		return fmt.Errorf("no lock %q in store %q", w.job.Lock, w.job.Store)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if w.job.Role == manyRole {
		go w.obey(commands, cancel, func() {})
		return w.many(ctx, l)
	}
	p, err := l.join(ctx, w.job.At, w.job.Task)
	if err != nil {
		return err
	}
	defer p.close()
	for range p.members {
		w.passed = append(w.passed, make(chan struct{}, 1))
	}
	w.say("ready", 0, 0, time.Now())
	started := make(chan struct{})
	go w.obey(commands, cancel, sync.OnceFunc(func() { close(started) }))
	select {
	case <-started:
	case <-ctx.Done():
		return nil
	}
	return w.run(ctx, p)
}

// obey executes commands until it reads stop, or until the process that sends them has ended.
func (w *worker) obey(commands *bufio.Scanner, cancel, start func()) {
	greedy, free := sync.OnceFunc(func() { close(w.greedy) }), sync.OnceFunc(func() { close(w.free) })
	for commands.Scan() {
		switch command, argument, _ := strings.Cut(commands.Text(), " "); command {
		case "start":
			start()
		case "greedy":
			greedy()
		case "free":
			free()
		case "go":
			if member, err := strconv.Atoi(argument); err == nil {
				select {
				case w.passed[member-w.job.First] <- struct{}{}:
				default:
				}
			}
		case "stop":
			w.stop(cancel)
			return
		}
	}
	w.stop(cancel)
}

// stop gives running operations a few seconds to end, because some libraries ignore ctx.
func (w *worker) stop(cancel func()) {
	time.AfterFunc(5*time.Second, func() { os.Exit(0) })
	cancel()
}

func (w *worker) run(ctx context.Context, p *party) error {
	var group sync.WaitGroup
	failures := make(chan error, len(p.members))
	for i, acquire := range p.members {
		group.Go(func() {
			for ctx.Err() == nil {
				err := w.leg(ctx, i, acquire)
				if err != nil && ctx.Err() == nil {
					failures <- err
					return
				}
			}
		})
	}
	go func() { group.Wait(); close(failures) }()
	return <-failures
}

// leg lets one member acquire, hold and release the lock once.
func (w *worker) leg(ctx context.Context, i int, acquire acquirer) error {
	h, err := acquire(ctx)
	if err != nil {
		return err
	}
	w.say("got", i, h.slot, time.Now())
	switch w.job.Role {
	case keepRole:
		return w.keep(ctx, i, h)
	case parkRole:
		return w.wait(ctx, i, h)
	}
	select {
	case <-time.After(hold):
	case <-ctx.Done():
	}
	before := time.Now()
	err = h.release(context.WithoutCancel(ctx))
	w.say("released", i, h.slot, before)
	if err != nil {
		return err
	}
	select {
	case <-w.passed[i]:
	case <-w.greedy:
	case <-ctx.Done():
	}
	return nil
}

// keep holds the lock until the process ends, and reports if the lock is lost.
func (w *worker) keep(ctx context.Context, i int, h held) error {
	select {
	case <-h.lost:
		w.say("lost", i, h.slot, time.Now())
	case <-ctx.Done():
	}
	<-ctx.Done()
	return nil
}

func (w *worker) say(kind string, member, slot int, at time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	fmt.Fprintln(w.out, kind, w.job.First+member, at.UnixNano(), slot)
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// event is a report of a worker.
type event struct {
	kind   string
	member int
	at     time.Time
	slot   int // the slot that the member acquired or released; 0 for a lock without slots
	text   string
}

// crew has the worker processes of one crowd, which is a group of clients that want the same lock. It also has the
// events that these processes have reported. While polite is true, a member that has released the lock requests it
// again only after another member has acquired it. So each hand-over is between two members.
type crew struct {
	mu        sync.Mutex
	events    []event
	polite    bool
	holders   map[int]int // the member that acquired each slot last
	processes []*process
	news      chan struct{}
}

// hire starts the processes and divides the members among them. It returns when all processes are connected.
func hire(ctx context.Context, j job, processes int) (*crew, error) {
	c := &crew{polite: true, holders: map[int]int{}, news: make(chan struct{}, 1)}
	members, at := j.Task.Members, j.At
	for i := range processes {
		if j.Apart {
			j.At = oneOf(at, i)
		}
		j.First = members * i / processes
		j.Task.Members = members*(i+1)/processes - j.First
		if err := c.start(ctx, j); err != nil {
			c.dismiss()
			return nil, err
		}
	}
	if err := c.await(ctx, func() bool { return c.count("ready") == processes }); err != nil {
		c.dismiss()
		return nil, fmt.Errorf("not all worker processes are connected: %w", err)
	}
	return c, nil
}

// oneOf chooses the server that a process uses, and returns a list with only this server. The parameter servers lists
// all servers. Some clients choose a server of the cluster at random and keep it. So in one run, the clients of one
// library could by chance connect to the leader more often than those of another. To avoid that, the first process uses
// the first server, the second process uses the second server, and so on.
func oneOf(servers []string, process int) []string { return servers[process%len(servers):][:1] }

func (c *crew) note(e event) {
	c.mu.Lock()
	c.events = append(c.events, e)
	before, handed := c.holders[e.slot]
	polite := c.polite
	if e.kind == "got" {
		c.holders[e.slot] = e.member
	}
	c.mu.Unlock()
	if e.kind == "got" && polite && handed && before != e.member {
		c.tell(before, fmt.Sprintf("go %d", before))
	}
	select {
	case c.news <- struct{}{}:
	default:
	}
}

// tell sends a command to the process of a member.
func (c *crew) tell(member int, command string) {
	i, found := slices.BinarySearchFunc(c.processes, member, func(p *process, m int) int { return cmp.Compare(p.first, m) })
	if !found {
		i--
	}
	_, _ = fmt.Fprintln(c.processes[i].in, command)
}

func (c *crew) tellAll(command string) {
	if command == "greedy" {
		c.mu.Lock()
		c.polite = false
		c.mu.Unlock()
	}
	for _, p := range c.processes {
		_, _ = fmt.Fprintln(p.in, command)
	}
}

// count returns the number of events of one kind. Call it only in a condition of await, or after all workers have
// ended.
func (c *crew) count(kind string) (n int) {
	for _, e := range c.events {
		if e.kind == kind {
			n++
		}
	}
	return n
}

// await returns when the function so returns true, or when a process has failed. It checks the condition after each
// event.
func (c *crew) await(ctx context.Context, so func() bool) error {
	for {
		c.mu.Lock()
		done, err := so(), c.failure()
		c.mu.Unlock()
		if done || err != nil {
			return err
		}
		select {
		case <-c.news:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (c *crew) failure() error {
	for _, e := range c.events {
		if e.kind == "failed" {
			return errors.New(e.text)
		}
	}
	return nil
}

// find returns the first event of one kind.
func (c *crew) find(kind string) (event, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.IndexFunc(c.events, func(e event) bool { return e.kind == kind })
	if i < 0 {
		return event{}, false
	}
	return c.events[i], true
}

// since returns the events between the two times, in order.
func (c *crew) since(from, to time.Time) (all []event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		if !e.at.Before(from) && e.at.Before(to) {
			all = append(all, e)
		}
	}
	slices.SortStableFunc(all, func(a, b event) int { return a.at.Compare(b.at) })
	return all
}

// kill kills all processes, like a crash.
func (c *crew) kill() {
	for _, p := range c.processes {
		_ = p.cmd.Process.Kill()
	}
}

// dismiss ends all processes. It accepts a nil crew.
func (c *crew) dismiss() {
	if c == nil {
		return
	}
	c.tellAll("stop")
	limit := time.After(10 * time.Second)
	for _, p := range c.processes {
		select {
		case <-p.ended:
		case <-limit:
			_ = p.cmd.Process.Kill()
			<-p.ended
		}
		_ = p.in.Close()
	}
}

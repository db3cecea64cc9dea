package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/faultproxy"
)

// ZooKeeperEnsemble is an ensemble of ZooKeeper servers. Tests can make each server fail. It needs Linux,
// where every address in 127.0.0.0/8 leads to this machine.
type ZooKeeperEnsemble struct{ Nodes []*ZooKeeperNode }

// ZooKeeperNode is a server of the ensemble. Its methods must not be called concurrently.
type ZooKeeperNode struct {
	DSN string // the address of the client port

	engine  *zookeeper
	options Options
	port    int
	peers   [2]int              // the ports for other servers: one for following the leader, one for elections
	proxies []*faultproxy.Proxy // the proxies in front of the peer ports
	config  string
	folder  *folder
	process *process
}

// With these two addresses, all connections between servers pass a proxy. The servers listen on 127.0.0.1, and the
// proxies listen on 127.0.0.2 with the same port numbers. Each server's configuration contains host names. A server
// resolves its own name to 127.0.0.1, and the names of the other servers to 127.0.0.2. IP addresses in the
// configuration would not work, because a server also sends its own address to the others.
const here, there = "127.0.0.1", "127.0.0.2"

// StartZooKeeperEnsemble starts n servers of the newer release and waits until each server knows a leader.
func StartZooKeeperEnsemble(ctx context.Context, n int, o Options) (*ZooKeeperEnsemble, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	e := new(zookeeper)
	if err := bounded(ctx, installLimit, func(ctx context.Context) error { return e.provideNewer(ctx, o) }); err != nil {
		return nil, failure(ZooKeeper, "find or install", err, nil)
	}
	var errs []error
	for range portAttempts { // retries, because another program may take a port before a node does
		c, err := startZooKeeperEnsemble(ctx, e, n, o)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, errDied) && !errors.Is(err, errStranger) && !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func startZooKeeperEnsemble(ctx context.Context, e *zookeeper, n int, o Options) (c *ZooKeeperEnsemble, err error) {
	c = &ZooKeeperEnsemble{Nodes: make([]*ZooKeeperNode, n)}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	var members strings.Builder
	for i := range c.Nodes {
		node := &ZooKeeperNode{engine: e, options: o}
		c.Nodes[i] = node
		if err := node.prepare(i); err != nil {
			return c, err
		}
		fmt.Fprintf(&members, "server.%d=%s:%d:%d\n", i+1, zookeeperName(i), node.peers[0], node.peers[1])
	}
	var group sync.WaitGroup
	started := make([]error, n)
	for i, node := range c.Nodes {
		node.config = members.String()
		if err := node.writeHosts(i, n); err != nil {
			return c, err
		}
		group.Go(func() { started[i] = node.start(ctx) })
	}
	group.Wait()
	return c, errors.Join(started...)
}

func zookeeperName(i int) string { return fmt.Sprintf("node%d", i+1) }

func (n *ZooKeeperNode) prepare(i int) (err error) {
	if n.folder, err = newFolder(ZooKeeper, n.options.Durable); err != nil {
		return err
	}
	if err := os.Mkdir(n.folder.data(), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(n.folder.data(), "myid"), []byte(strconv.Itoa(i+1)), 0o644); err != nil {
		return err
	}
	if n.port, err = n.folder.freePort(); err != nil {
		return err
	}
	n.DSN = n.engine.dsn(n.port)
	for k := range n.peers {
		if n.peers[k], err = n.folder.freePort(); err != nil {
			return err
		}
		p, err := faultproxy.NewAt(fmt.Sprintf("%s:%d", there, n.peers[k]), fmt.Sprintf("%s:%d", here, n.peers[k]), 500*time.Millisecond)
		if err != nil {
			return err
		}
		n.proxies = append(n.proxies, p)
	}
	return nil
}

func (n *ZooKeeperNode) hosts() string { return filepath.Join(n.folder.path, "hosts") }

// writeHosts writes the hosts file of the node with number i, with the names of all nodes.
func (n *ZooKeeperNode) writeHosts(i, all int) error {
	text := here + " localhost\n"
	for k := range all {
		addr := there
		if k == i {
			addr = here
		}
		text += addr + " " + zookeeperName(k) + "\n"
	}
	return os.WriteFile(n.hosts(), []byte(text), 0o644)
}

func (n *ZooKeeperNode) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	o := n.options
	o.Args = append([]string{"-Djdk.net.hosts.file=" + n.hosts()}, o.Args...)
	p, err := startProcess(n.engine.commandWith(n.folder, n.port, o, n.config), n.folder)
	if err != nil {
		return err
	}
	n.process = p
	if err := p.awaitReady(ctx, n.engine, n.DSN, n.folder); err != nil {
		return failure(ZooKeeper, "start", err, n.folder)
	}
	return nil
}

// Kill ends the node as a crash would. The node's data remain for Restart.
func (n *ZooKeeperNode) Kill() { n.process.kill() }

// Restart starts the node again, on the same data and ports, and waits until it knows a leader.
func (n *ZooKeeperNode) Restart(ctx context.Context) error {
	n.process.end()
	return n.start(ctx)
}

// Pause suspends the node. Continue resumes it.
func (n *ZooKeeperNode) Pause() { signalGroup(n.process.cmd.Process, syscall.SIGSTOP) }

// Continue resumes a node that was paused.
func (n *ZooKeeperNode) Continue() { signalGroup(n.process.cmd.Process, syscall.SIGCONT) }

// Leads reports whether the node is the leader.
func (n *ZooKeeperNode) Leads(ctx context.Context) (bool, error) {
	text, err := askZooKeeper(ctx, n.DSN, "srvr")
	return strings.Contains(text, "Mode: leader"), err
}

// Isolate cuts the node off from the other nodes, in both directions. The node's clients can still connect to it.
func (c *ZooKeeperEnsemble) Isolate(node *ZooKeeperNode) {
	for _, other := range c.Nodes {
		for _, p := range other.proxies {
			if other == node {
				p.Cut()
			} else {
				p.CutFrom(ownedBy(node.process.pid))
			}
		}
	}
}

// Rejoin undoes Isolate.
func (c *ZooKeeperEnsemble) Rejoin() {
	for _, n := range c.Nodes {
		for _, p := range n.proxies {
			p.Restore()
		}
	}
}

// Stop ends all nodes and removes their data.
func (c *ZooKeeperEnsemble) Stop() {
	for _, n := range c.Nodes {
		if n == nil {
			continue
		}
		if n.process != nil {
			n.process.kill()
		}
		for _, p := range n.proxies {
			p.Close()
		}
		if n.folder != nil {
			n.folder.remove()
		}
	}
}

package testserver

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/internal/faultproxy"
)

// EtcdCluster is a cluster of etcd nodes. Tests can make each node fail.
type EtcdCluster struct{ Nodes []*EtcdNode }

// EtcdNode is a node of the cluster. Its methods must not be called concurrently.
type EtcdNode struct {
	DSN string // the address of the client port

	engine  *etcd
	port    int
	argv    []string
	folder  *folder
	process *process
	peers   *faultproxy.Proxy // the proxy in front of the node's peer port
}

// StartEtcdCluster starts a cluster of n nodes and waits until each node knows a leader.
func StartEtcdCluster(ctx context.Context, n int, o Options) (*EtcdCluster, error) {
	if o.Logf == nil {
		o.Logf = func(string, ...any) {}
	}
	e := new(etcd)
	if err := bounded(ctx, installLimit, func(ctx context.Context) error { return e.provide(ctx, o) }); err != nil {
		return nil, failure(Etcd, "find or build", err, nil)
	}
	var errs []error
	for range portAttempts { // retries, because another program may take a port before a node does
		c, err := startEtcdCluster(ctx, e, n, o)
		if err == nil {
			return c, nil
		}
		errs = append(errs, err)
		if !errors.Is(err, errDied) && !errors.Is(err, errStranger) {
			break
		}
	}
	return nil, errors.Join(errs...)
}

func startEtcdCluster(ctx context.Context, e *etcd, n int, o Options) (c *EtcdCluster, err error) {
	c = &EtcdCluster{Nodes: make([]*EtcdNode, n)}
	defer func() {
		if err != nil {
			c.Stop()
		}
	}()
	var members []string
	for i := range c.Nodes {
		node := &EtcdNode{engine: e}
		c.Nodes[i] = node
		if err := node.prepare(e, o); err != nil {
			return c, err
		}
		members = append(members, fmt.Sprintf("%s=http://%s", etcdName(node.folder), node.peers.Addr()))
	}
	var group sync.WaitGroup
	started := make([]error, n)
	for i, node := range c.Nodes {
		node.argv = append(node.argv, "--initial-cluster="+strings.Join(members, ","))
		group.Go(func() { started[i] = node.start(ctx) })
	}
	group.Wait()
	return c, errors.Join(started...)
}

func (n *EtcdNode) prepare(e *etcd, o Options) (err error) {
	if n.folder, err = newFolder(Etcd, o.Durable); err != nil {
		return err
	}
	if err := os.Mkdir(n.folder.data(), 0o700); err != nil {
		return err
	}
	peer, err := n.folder.freePort()
	if err != nil {
		return err
	}
	if n.port, err = n.folder.freePort(); err != nil {
		return err
	}
	if n.peers, err = faultproxy.New(fmt.Sprintf("127.0.0.1:%d", peer)); err != nil {
		return err
	}
	n.DSN = etcdDSN(n.port)
	n.argv = append(etcdArgs(e.path, n.folder, n.DSN, o),
		fmt.Sprintf("--listen-peer-urls=http://127.0.0.1:%d", peer), "--initial-advertise-peer-urls=http://"+n.peers.Addr(),
		// These times, in milliseconds, are long enough for a slow machine: if a heartbeat came later than the election
		// timeout, the cluster would elect another leader.
		"--heartbeat-interval=50", "--election-timeout=500")
	return nil
}

func (n *EtcdNode) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyLimit)
	defer cancel()
	p, err := startProcess(command{argv: n.argv}, n.folder)
	if err != nil {
		return err
	}
	n.process = p
	if err := p.awaitReady(ctx, n.engine, n.DSN, n.folder); err != nil {
		return failure(Etcd, "start", err, n.folder)
	}
	return nil
}

// Kill ends the node as a crash would. The node's data remain for Restart.
func (n *EtcdNode) Kill() { n.process.kill() }

// Restart starts the node again, on the same data and ports, and waits until it knows a leader.
func (n *EtcdNode) Restart(ctx context.Context) error {
	n.process.end()
	return n.start(ctx)
}

// Pause suspends the node. Continue resumes it.
func (n *EtcdNode) Pause() { signalGroup(n.process.cmd.Process, syscall.SIGSTOP) }

// Continue resumes a node that was paused.
func (n *EtcdNode) Continue() { signalGroup(n.process.cmd.Process, syscall.SIGCONT) }

// Leads reports whether the node is the leader. If the node does not answer within seconds, Leads returns an error.
func (n *EtcdNode) Leads(ctx context.Context) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	var status struct {
		Header struct {
			MemberID string `json:"member_id"`
		} `json:"header"`
		Leader string `json:"leader"`
	}
	err := askEtcd(ctx, nil, n.DSN+"/v3/maintenance/status", "{}", &status)
	return err == nil && status.Leader == status.Header.MemberID, err
}

// Isolate cuts the node off from its peers, in both directions. The node's clients still reach it. Isolate needs
// Linux.
func (c *EtcdCluster) Isolate(node *EtcdNode) {
	for _, other := range c.Nodes {
		if other == node {
			other.peers.Cut()
		} else {
			other.peers.CutFrom(ownedBy(node.process.pid))
		}
	}
}

// Rejoin undoes Isolate.
func (c *EtcdCluster) Rejoin() {
	for _, n := range c.Nodes {
		n.peers.Restore()
	}
}

// Stop ends all nodes and removes their data.
func (c *EtcdCluster) Stop() {
	for _, n := range c.Nodes {
		if n == nil {
			continue
		}
		if n.process != nil {
			n.process.kill()
		}
		if n.peers != nil {
			n.peers.Close()
		}
		if n.folder != nil {
			n.folder.remove()
		}
	}
}

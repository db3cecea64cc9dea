//go:build linux

package main

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

	"github.com/rowlock/rowlock/compat_test/torture/history"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/testserver"
)

// world contains the servers of one run, and the data.
type world struct {
	store
	running []*testserver.Server
	whole   cluster // nil unless the store is a cluster
	direct  job     // the address at which the supervisor reaches the store without the proxies
	folder  string
	remove  func() // deletes the file with the data
}

func newWorld(ctx context.Context, s store, folder string, base job) (w *world, err error) {
	w = &world{store: s, folder: folder, direct: base}
	defer func() {
		if err != nil {
			w.stop()
		}
	}()
	// The file with the data is in memory if possible. No fault is a crash of the machine, so a flush to a disk would
	// only keep the other writers of the file waiting.
	files, remove, err := testserver.NewFolder("sqlite")
	if err != nil {
		return w, err
	}
	w.remove, w.direct.Data = remove, filepath.Join(files, "data.db")
	w.running = make([]*testserver.Server, len(s.servers))
	errs := make([]error, len(s.servers))
	var group sync.WaitGroup
	for i, n := range s.servers {
		start := func() { w.running[i], errs[i] = testserver.Start(ctx, n.engine, n.options) }
		if i > 0 && s.servers[i-1].behind {
			group.Wait()
			if errs[i-1] != nil {
				break
			}
			n.options.Postgres = w.running[i-1].DSN
		}
		group.Go(start)
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return w, err
	}
	for i, n := range s.servers {
		if !n.behind {
			w.direct.Nodes = append(w.direct.Nodes, w.running[i].Addr)
		}
	}
	if s.cluster != nil {
		if w.whole, err = s.cluster(ctx, files); err != nil {
			return w, err
		}
		w.direct.Nodes = w.whole.addrs()
	}
	if s.settle != nil {
		if err := s.settle(ctx, w.direct.Nodes); err != nil {
			return w, err
		}
	}
	c, err := s.open(w.direct)
	if err != nil {
		return w, err
	}
	defer c.close()
	return w, c.data.prepare(ctx, s.expect.Audited)
}

func (w *world) stop() {
	var group sync.WaitGroup
	for _, s := range w.running {
		if s != nil {
			group.Go(s.Stop)
		}
	}
	if w.whole != nil {
		group.Go(w.whole.stop)
	}
	group.Wait()
	if w.remove != nil {
		w.remove()
	}
}

// network is the network of one worker: one proxy before each node, used by this worker only.
type network []*faultproxy.Proxy

func (w *world) newNetwork() (n network, addrs []string, err error) {
	for _, node := range w.direct.Nodes {
		p, err := faultproxy.New(node)
		if err != nil {
			n.each((*faultproxy.Proxy).Close)
			return nil, nil, err
		}
		n = append(n, p)
		addrs = append(addrs, p.Addr())
	}
	return n, addrs, nil
}

func (n network) each(do func(*faultproxy.Proxy)) {
	for _, p := range n {
		do(p)
	}
}

func (n network) sent() (sum int) {
	n.each(func(p *faultproxy.Proxy) { sum += p.Sent() })
	return sum
}

// signalAll sends a signal to a server and to all processes that the server has started.
func signalAll(s *testserver.Server, what syscall.Signal) {
	for _, pid := range family(s.PID) {
		_ = syscall.Kill(pid, what)
	}
}

// family returns a process and its descendants, which may belong to other process groups.
func family(pid int) []int {
	parents := map[int]int{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		child, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", child))
		if err != nil {
			continue
		}
		rest := string(text[strings.LastIndexByte(string(text), ')')+1:])
		if fields := strings.Fields(rest); len(fields) > 1 {
			parents[child], _ = strconv.Atoi(fields[1])
		}
	}
	all := []int{pid}
	for i := 0; i < len(all); i++ {
		for child, parent := range parents {
			if parent == all[i] {
				all = append(all, child)
			}
		}
	}
	return all
}

// harvest reads the audit and the ledger from the store's databases.
func (w *world) harvest(ctx context.Context, r *history.Run) error {
	c, err := w.open(w.direct)
	if err != nil {
		return err
	}
	defer c.close()
	rows, err := c.data.QueryContext(ctx, "SELECT seq, resource, token, nonce, worker, read_val, new_val FROM torture_ledger ORDER BY seq")
	if err != nil {
		return err
	}
	defer rows.Close() //nolint:errcheck // the error of rows.Err is checked
	for rows.Next() {
		var l history.Link
		if err := rows.Scan(&l.Seq, &l.Resource, &l.Token, &l.Nonce, &l.Worker, &l.Read, &l.Value); err != nil {
			return err
		}
		r.Ledger = append(r.Ledger, l)
	}
	if err := rows.Err(); err != nil || !w.expect.Audited {
		return err
	}
	audit, err := c.data.QueryContext(ctx, "SELECT seq, name, gone, holder, old_token, old_nonce, old_expires, token, nonce, expires, at FROM torture_audit ORDER BY name, seq")
	if err != nil {
		return err
	}
	defer audit.Close() //nolint:errcheck // the error of audit.Err is checked
	for audit.Next() {
		var a history.Change
		if err := audit.Scan(&a.Seq, &a.Name, &a.Gone, &a.Holder, &a.OldToken, &a.OldNonce, &a.OldExpires, &a.Token, &a.Nonce, &a.Expires, &a.At); err != nil {
			return err
		}
		r.Audit = append(r.Audit, a)
	}
	return audit.Err()
}

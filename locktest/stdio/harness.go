package stdio

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/faultproxy"
	"github.com/rowlock/rowlock/internal/oneline"
	"github.com/rowlock/rowlock/locktest"
)

// Variable is the environment variable in which a program finds the address of the store.
const Variable = "ROWLOCK_STORE"

// Harness starts a program for each client of a case. It implements [locktest.Harness] and the optional interfaces
// that need no access to the data of the store.
type Harness struct {
	command []string
	store   string // the address of the store
	at      place  // where the address contains the host and port
	limits  limits

	mu      sync.Mutex
	clients map[driver.Backend]*client
	idle    []*client // their programs still run, and serve later calls of Open
}

// mostIdle limits how many programs are kept for later calls of Open.
const mostIdle = 8

var (
	_ locktest.Closer       = (*Harness)(nil)
	_ locktest.Crasher      = (*Harness)(nil)
	_ locktest.Partitioner  = (*Harness)(nil)
	_ locktest.ReplyDropper = (*Harness)(nil)
)

// New returns a harness that starts command, a program and its arguments. The parameter store is the address of the
// store, as --store of the command rowlock accepts it. It must contain one host, because all connections of a
// program go through one proxy. New starts nothing.
func New(store string, command ...string) (*Harness, error) {
	if len(command) == 0 {
		return nil, errors.New("the program is missing")
	}
	at, err := find(store)
	if err != nil {
		return nil, err
	}
	return &Harness{command: command, store: store, at: at, limits: usualLimits, clients: map[driver.Backend]*client{}}, nil
}

// Open starts the program, and asks it for its capabilities. If it can, it returns a program that Close has kept.
func (h *Harness) Open(ctx context.Context) (driver.Backend, error) {
	c := h.kept()
	if c == nil {
		var err error
		if c, err = h.start(ctx); err != nil {
			return nil, err
		}
	}
	var b driver.Backend = c
	if c.operate {
		b = operator{c}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.clients[b] = c
	return b, nil
}

// kept returns a program that no client uses, or nil.
func (h *Harness) kept() *client {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.idle) == 0 {
		return nil
	}
	c := h.idle[len(h.idle)-1]
	h.idle = h.idle[:len(h.idle)-1]
	return c
}

func (h *Harness) start(ctx context.Context) (*client, error) {
	proxy, err := faultproxy.New(h.at.target)
	if err != nil {
		return nil, err
	}
	through := h.store[:h.at.begin] + proxy.Addr() + h.store[h.at.end:]
	p, err := start(h.command, append(os.Environ(), Variable+"="+through), h.limits)
	if err != nil {
		proxy.Close()
		return nil, err
	}
	c := &client{program: p, proxy: proxy}
	if err := c.introduce(ctx); err != nil {
		c.kill()
		return nil, fmt.Errorf("%s: %w", strings.Join(h.command, " "), err)
	}
	return c, nil
}

// Close ends the use of b. It keeps the program for a later Open, because many programs take long to start. It ends a
// program whose network was disturbed, that owes a reply, or that has acquired a lease of its own.
func (h *Harness) Close(b driver.Backend) error {
	c, err := h.client(b)
	if err != nil {
		return err
	}
	h.mu.Lock()
	delete(h.clients, b)
	keep := c.isClean() && len(h.idle) < mostIdle
	if keep {
		h.idle = append(h.idle, c)
	}
	h.mu.Unlock()
	if keep {
		return nil
	}
	return c.close()
}

// CloseAll ends every program that still runs. It kills those that Close has kept. It returns an error if another program
// does not end when its stdin ends.
func (h *Harness) CloseAll() error {
	h.mu.Lock()
	idle, open := h.idle, h.clients
	h.idle, h.clients = nil, map[driver.Backend]*client{}
	h.mu.Unlock()
	for _, c := range idle {
		c.kill()
	}
	var errs []error
	for _, c := range open {
		errs = append(errs, c.close())
	}
	return oneline.Join(errs...)
}

// Crash kills the program of b, as kill -9 does.
func (h *Harness) Crash(b driver.Backend) error {
	return h.each(b, (*client).kill)
}

// Cut drops all bytes between the program of b and the store.
func (h *Harness) Cut(b driver.Backend) error {
	return h.each(b, func(c *client) { c.network().Cut() })
}

// Restore ends Cut.
func (h *Harness) Restore(b driver.Backend) error {
	return h.each(b, func(c *client) { c.network().Restore() })
}

// DropReply loses the store's reply to the next request of the program of b.
func (h *Harness) DropReply(b driver.Backend) error {
	return h.each(b, func(c *client) { c.network().DropReplies(1, faultproxy.Hang) })
}

func (h *Harness) each(b driver.Backend, do func(*client)) error {
	c, err := h.client(b)
	if err == nil {
		do(c)
	}
	return err
}

func (h *Harness) client(b driver.Backend) (*client, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c := h.clients[b]
	if c == nil {
		return nil, fmt.Errorf("%v is no open client of this harness", b)
	}
	return c, nil
}

// place is the part of an address that contains the host and port, and the address to connect to.
type place struct {
	begin, end int
	target     string
}

// dsn matches USER:PASSWORD@tcp(HOST:PORT)/DATABASE, the form of go-sql-driver/mysql.
const dsn = `^[^/]*@tcp\(([^()]+)\)/`

// ports maps the scheme of an address to the default port.
var ports = map[string]string{
	"postgres": "5432", "postgresql": "5432", "mysql": "3306", "mariadb": "3306", "redis": "6379", "etcd": "2379", "zk": "2181",
}

// find returns where the address of a store contains its host and port.
func find(store string) (place, error) {
	if m := regexp.MustCompile(dsn).FindStringSubmatchIndex(store); m != nil {
		return place{m[2], m[3], withPort(store[m[2]:m[3]], "3306")}, nil
	}
	u, err := url.Parse(store)
	if err != nil || u.Hostname() == "" || strings.Contains(u.Host, ",") || ports[u.Scheme] == "" && u.Port() == "" {
		schemes := slices.Sorted(func(yield func(string) bool) {
			for scheme := range ports {
				if !yield(scheme) {
					return
				}
			}
		})
		return place{}, fmt.Errorf("the address of the store must be a URL with one host (%s), so that a proxy can stand before it", strings.Join(schemes, ", "))
	}
	begin := strings.Index(store, "://") + len("://")
	if i := strings.LastIndexByte(strings.SplitN(store[begin:], "/", 2)[0], '@'); i >= 0 {
		begin += i + 1
	}
	return place{begin, begin + len(u.Host), withPort(u.Host, ports[u.Scheme])}, nil
}

func withPort(host, port string) string {
	if _, _, err := net.SplitHostPort(host); err == nil {
		return host
	}
	return net.JoinHostPort(strings.Trim(host, "[]"), port)
}

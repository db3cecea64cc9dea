package inherit

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
	"github.com/rowlock/rowlock/internal/oneline"
)

const (
	// mostChildren limits the open connections. Further children wait until a connection ends, or until their own time
	// limit is over.
	mostChildren = 128
	// longestLine limits a request, in bytes. A request of this package has about 70 bytes.
	longestLine = 1024
	// writeTimeout limits an answer to a child that does not read it.
	writeTimeout = 5 * time.Second
	// longestPath is the longest path of a socket, in bytes. The shortest limit of a system that we know of is 104.
	longestPath = 100
)

// Held is the lease of the parent.
type Held interface {
	// Renew renews the lease in the store. It returns nil only if the lease is then held.
	Renew(ctx context.Context) error
	// ExpiresAt returns the time at which the parent stops trusting the lease, unless it renews the lease.
	ExpiresAt() time.Time
	// Context returns a context that ends with the lease.
	Context() context.Context
}

// request is the line that a child sends.
type request struct {
	ID    uint64 `json:"id"`
	Nonce string `json:"nonce"`
}

// answer is the line that the parent sends. Either Trust or Error is set.
type answer struct {
	ID    uint64 `json:"id"`
	Trust int64  `json:"trust_us,omitempty"`
	Error string `json:"error,omitempty"`
}

// Server answers the children of one lease. Its connections end when the lease ends.
type Server struct {
	lease   Held
	nonce   string
	folder  string
	socket  net.Listener
	over    context.Context // ends with the lease, or when Close is called
	end     context.CancelFunc
	running sync.WaitGroup
	slots   chan struct{} // has one element for each open connection

	sending chan struct{} // has an element while a renewal is in progress; its capacity is 1
	mu      sync.Mutex
	next    *renewal // the renewal that has not been sent yet; nil if no request waits for one
}

// renewal is one renewal in the store. It answers all requests that arrived before it was sent.
type renewal struct {
	done  chan struct{} // closed when the other fields are set
	trust time.Duration // how long the lease is trusted, counted from just before the renewal was sent
	err   error
}

// Serve opens a socket for the children of a lease, and sets the fields Keeper and TTL of l. The socket is in a new
// folder that only this user can open. The folder is in the folder for temporary files. It remains there if the process
// is killed. The caller must call Close.
func Serve(lease Held, l *Lease) (*Server, error) {
	folder, err := makeFolder()
	if err != nil {
		return nil, err
	}
	l.Keeper = filepath.Join(folder, "s")
	socket, err := (&net.ListenConfig{}).Listen(lease.Context(), "unix", l.Keeper)
	if err != nil {
		_ = os.RemoveAll(folder)
		return nil, err
	}
	// Every later renewal is trusted for at least this time, except shortly before the end of a maximum hold: the time
	// has passed since the last renewal was sent.
	l.TTL = time.Until(lease.ExpiresAt())
	s := &Server{
		lease: lease, nonce: l.Nonce.String(), folder: folder, socket: socket,
		slots: make(chan struct{}, mostChildren), sending: make(chan struct{}, 1),
	}
	s.over, s.end = context.WithCancel(lease.Context())
	context.AfterFunc(s.over, func() { _ = socket.Close() })
	s.running.Go(s.accept)
	return s, nil
}

// makeFolder makes the folder of the socket. If the path of the folder for temporary files is too long for a socket,
// the folder is in /tmp.
func makeFolder() (string, error) {
	folder, err := os.MkdirTemp("", "rowlock-")
	if err == nil && len(folder)+len("/s") > longestPath && runtime.GOOS != "windows" {
		_ = os.Remove(folder)
		folder, err = os.MkdirTemp("/tmp", "rowlock-")
	}
	return folder, err
}

// Close ends every connection, and removes the folder of the socket. It returns when all goroutines have ended. A
// renewal in progress ends within the time limit of a request to the store.
func (s *Server) Close() {
	s.end()
	s.running.Wait()
	_ = os.RemoveAll(s.folder)
}

func (s *Server) accept() {
	for {
		select {
		case s.slots <- struct{}{}:
		case <-s.over.Done():
			return
		}
		conn, err := s.socket.Accept()
		if err != nil {
			<-s.slots
			if s.over.Err() != nil {
				return
			}
			select { // the system has no file descriptor left for the connection
			case <-time.After(100 * time.Millisecond):
				continue
			case <-s.over.Done():
				return
			}
		}
		s.running.Go(func() {
			defer func() { <-s.slots }()
			defer context.AfterFunc(s.over, func() { _ = conn.Close() })()
			defer conn.Close()
			s.serve(conn)
		})
	}
}

// serve answers the requests of one child. It returns when the connection or the lease ends, or after a request that is
// not of this protocol or names another lease.
func (s *Server) serve(conn net.Conn) {
	lines := bufio.NewScanner(conn)
	lines.Buffer(make([]byte, 0, 128), longestLine)
	for lines.Scan() {
		var r request
		if json.Unmarshal(lines.Bytes(), &r) != nil || r.Nonce != s.nonce {
			return
		}
		a := answer{ID: r.ID}
		switch trust, err := s.confirm(); {
		case s.over.Err() != nil:
			return
		case err != nil:
			a.Error = oneline.Text(err)
		default:
			a.Trust = trust.Microseconds()
		}
		line, _ := json.Marshal(a) // an answer has no error
		_ = conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := conn.Write(append(line, '\n')); err != nil {
			return
		}
	}
}

// confirm renews the lease in the store, or waits for a renewal that another request has demanded and that has not been
// sent yet. It returns how long the lease is trusted, counted from when confirm was called or later.
func (s *Server) confirm() (time.Duration, error) {
	s.mu.Lock()
	r := s.next
	if r == nil {
		r = &renewal{done: make(chan struct{})}
		s.next = r
		s.running.Go(func() { s.renew(r) })
	}
	s.mu.Unlock()
	<-r.done
	return r.trust, r.err
}

// renew sends a renewal after the renewal in progress, if there is one.
func (s *Server) renew(r *renewal) {
	s.sending <- struct{}{}
	defer func() { <-s.sending }()
	s.mu.Lock()
	s.next = nil
	s.mu.Unlock()
	defer close(r.done)
	before := time.Now()
	if r.err = s.lease.Renew(s.over); r.err != nil {
		return
	}
	if r.trust = s.lease.ExpiresAt().Sub(before); r.trust <= 0 {
		r.err = fmt.Errorf("%w: the parent no longer trusts its lease", driver.ErrNotHeld)
	}
}

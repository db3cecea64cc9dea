package inherit

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// ErrParent is contained in every error of a request to the parent. The text says what is wrong with the parent.
var ErrParent = errors.New("the process that holds the lock")

// ErrGone means that the parent is gone, or that its lease has ended. It is an [ErrParent].
var ErrGone = fmt.Errorf("%w has ended, or no longer holds it", ErrParent)

// connection is a child's connection to its parent. A goroutine reads the answers until the connection ends.
type connection struct {
	net.Conn
	over context.Context // ends with the connection
	end  context.CancelCauseFunc

	mu     sync.Mutex
	last   uint64
	asking map[uint64]chan answer // the requests without an answer, by their id
}

// dial connects to the parent's socket.
func dial(ctx context.Context, path string) (*connection, error) {
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", path)
	switch {
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, fmt.Errorf("%w: %w", ErrGone, err)
	case err != nil:
		return nil, fmt.Errorf("%w cannot be reached: %w", ErrParent, err)
	}
	c := &connection{Conn: conn, asking: map[uint64]chan answer{}}
	c.over, c.end = context.WithCancelCause(context.Background())
	go c.read()
	return c, nil
}

// read passes each answer to its request. It returns when the connection ends.
func (c *connection) read() {
	defer c.end(ErrGone)
	defer c.Close()
	for lines := bufio.NewScanner(c); lines.Scan(); {
		var a answer
		if json.Unmarshal(lines.Bytes(), &a) != nil {
			return
		}
		if to := c.take(a.ID); to != nil {
			to <- a
		}
	}
}

// take removes the request with this id. It returns nil if the request no longer waits for its answer.
func (c *connection) take(id uint64) chan answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	to := c.asking[id]
	delete(c.asking, id)
	return to
}

// ask sends a request for the nonce, and returns the time for which the lease is trusted. That time counts from before
// the call. The answer to an earlier request is never used for this one, because each request has its own id.
func (c *connection) ask(ctx context.Context, nonce string) (time.Duration, error) {
	to := make(chan answer, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	c.asking[id] = to
	c.mu.Unlock()
	defer c.take(id)
	if err := c.send(ctx, request{id, nonce}); err != nil {
		return 0, err
	}
	select {
	case a := <-to:
		if a.Error != "" || a.Trust <= 0 {
			return 0, fmt.Errorf("%w could not renew it: %s", ErrParent, a.Error)
		}
		return time.Duration(a.Trust) * time.Microsecond, nil
	case <-c.over.Done():
		return 0, ErrGone
	case <-ctx.Done():
		return 0, fmt.Errorf("%w does not answer: %w", ErrParent, ctx.Err())
	}
}

// send writes a request. If the request cannot be written completely, send ends the connection, because the parent
// could not tell where the next request begins.
func (c *connection) send(ctx context.Context, r request) error {
	line, _ := json.Marshal(r) // a request has no error
	deadline, _ := ctx.Deadline()
	_ = c.SetWriteDeadline(deadline)
	if _, err := c.Write(append(line, '\n')); err != nil {
		_ = c.Close()
		return fmt.Errorf("%w: %w", ErrGone, err)
	}
	return nil
}

package sqllock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// errReplaced is wrapped by the error of a file that was replaced.
var errReplaced = errors.New("was replaced by another file while it was open: its locks are not seen by programs that open it now; restart this program, and stop all of them before the file is replaced")

// openFile is the database file as this backend has first seen it. SQLite goes on with the file that it has opened, whatever its path
// leads to later.
type openFile struct {
	mu   sync.Mutex
	path string
	info os.FileInfo // nil: not known yet, or in memory
	done bool
}

// same returns an error if the path of the database leads to another file than before, which wraps errReplaced, or to none. The first look waits for
// another writer within the limit.
func (s *sqlite) same(ctx context.Context, limit time.Duration) error {
	s.opened.mu.Lock()
	defer s.opened.mu.Unlock()
	o := &s.opened
	if !o.done {
		path, err := s.file(ctx, limit)
		if err != nil {
			return err
		}
		if path != "" {
			if o.info, err = os.Stat(path); err != nil {
				return driver.NotApplied(err)
			}
		}
		o.path, o.done = path, true
		return nil
	}
	if o.info == nil {
		return nil
	}
	now, err := os.Stat(o.path)
	switch {
	case err != nil:
		return driver.NotApplied(err) // it may be back in a moment
	case !os.SameFile(o.info, now):
		return driver.Permanent(fmt.Errorf("the database file %s %w", o.path, errReplaced))
	}
	return nil
}

//go:build unix && !aix && !solaris

package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/rowlock/rowlock/driver"
)

// change runs one transaction on the row of key: it locks the file, reads the row, calls the function decide, and
// writes the row. If decide fails, nothing is written.
func (s *Store) change(ctx context.Context, key driver.Key, decide func(l *row, now time.Time) error) error {
	folder, err := s.enter(key)
	if err != nil {
		return err
	}
	unlock, err := lock(ctx, filepath.Join(folder, "lock"))
	if err != nil {
		return driver.NotApplied(err)
	}
	defer unlock()
	l, err := read(filepath.Join(folder, "row"))
	if err != nil {
		return driver.NotApplied(err)
	}
	if err := decide(l, time.Now()); err != nil {
		return err
	}
	return write(filepath.Join(folder, "row"), l)
}

// enter returns the folder of key, and creates the folder if it is missing. The name of the folder is a hash of
// namespace and name with a NUL between them. No key contains NUL, so no two keys share a folder.
func (s *Store) enter(key driver.Key) (string, error) {
	sum := sha256.Sum256([]byte(key.Namespace + "\x00" + key.Name))
	folder := filepath.Join(s.folder, hex.EncodeToString(sum[:16]))
	switch err := os.Mkdir(folder, 0o700); {
	case err == nil || errors.Is(err, fs.ErrExist):
		return folder, nil
	case errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission):
		return "", driver.Permanent(err)
	default:
		return "", driver.NotApplied(err)
	}
}

// lock locks the file at path. It waits while another request has the file locked, until ctx ends. If a process dies,
// the kernel unlocks its files.
func lock(ctx context.Context, path string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			return func() { _ = file.Close() }, nil
		}
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return nil, errors.Join(err, file.Close())
		}
		select {
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), file.Close())
		case <-time.After(time.Millisecond):
		}
	}
}

// read returns the row in the file, or an empty row if the file does not exist.
func read(path string) (*row, error) {
	l := new(row)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return l, nil
	}
	if err != nil {
		return nil, err
	}
	return l, json.Unmarshal(text, l)
}

// write replaces the file in one step. If the process dies meanwhile, the file has either the old row or the new row.
func write(path string, l *row) error {
	text, err := json.Marshal(l)
	if err == nil {
		err = os.WriteFile(path+".new", text, 0o600)
	}
	if err != nil {
		return driver.NotApplied(err)
	}
	return os.Rename(path+".new", path) // after an error here, the outcome is unknown
}

package testserver

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// Disk is a small separate file system that a test can fill completely. A Disk needs Linux and root.
type Disk struct{ Path string }

// NewDisk creates a file system of size bytes at path, in memory.
func NewDisk(path string, size int64) (*Disk, error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return nil, err
	}
	if err := mount(path, size); err != nil {
		return nil, fmt.Errorf("mount a file system of %d bytes at %s, which takes root: %w", size, path, err)
	}
	return &Disk{path}, nil
}

func (d *Disk) ballast() string { return filepath.Join(d.Path, "ballast") }

// Fill uses up all free space.
func (d *Disk) Fill() error {
	file, err := os.OpenFile(d.ballast(), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return err
	}
	for block := make([]byte, 64<<10); len(block) > 0 && err == nil; {
		if _, err = file.Write(block); errors.Is(err, syscall.ENOSPC) {
			block, err = block[:len(block)/2], nil
		}
	}
	return errors.Join(err, file.Close())
}

// Free frees the space that Fill used.
func (d *Disk) Free() error { return os.Remove(d.ballast()) }

// Remove deletes the file system with its files.
func (d *Disk) Remove() { unmount(d.Path) }

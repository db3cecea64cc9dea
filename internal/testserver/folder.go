package testserver

import (
	"errors"
	"os"
	"path/filepath"
	"time"
)

const folderPrefix = "rowlock-server-"

// folder is a server's private folder on the disk. The process that uses the folder keeps the folder's file "owner"
// locked. If another process can lock that file, the folder is no longer in use, because its owner was killed.
type folder struct {
	path  string
	owner *os.File
	disk  *Disk    // nil, or the separate file system that contains the data
	ports []func() // functions that release the ports that freePort has reserved
}

func (f *folder) data() string { return filepath.Join(f.path, "data") }
func (f *folder) log() string  { return filepath.Join(f.path, "log") }

func newFolder(engine string, durable bool) (*folder, error) {
	parent, err := parentFolder(durable)
	if err != nil {
		return nil, err
	}
	sweep(parent)
	path, err := os.MkdirTemp(parent, folderPrefix+engine+"-")
	if err != nil {
		return nil, err
	}
	owner, err := os.Create(filepath.Join(path, "owner"))
	if err == nil {
		err = errors.Join(lock(owner, false), os.Chmod(path, 0o755))
	}
	f := &folder{path: path, owner: owner}
	if err != nil {
		f.remove()
		return nil, err
	}
	return f, nil
}

// NewFolder creates a folder for files that nobody needs after the test, such as a SQLite database. The folder is in
// memory under the same conditions as the data of a server. The function remove deletes it.
func NewFolder(name string) (path string, remove func(), err error) {
	f, err := newFolder(name, false)
	if err != nil {
		return "", nil, err
	}
	if err := os.Mkdir(f.data(), 0o755); err != nil {
		f.remove()
		return "", nil, err
	}
	return f.data(), f.remove, nil
}

// freePort returns a port of 127.0.0.1. The port stays reserved for the server until remove, even while the server is
// down.
func (f *folder) freePort() (int, error) {
	port, release, err := FreePort()
	if err == nil {
		f.ports = append(f.ports, release)
	}
	return port, err
}

// give makes another account the owner of the folder.
func (f *folder) give(a *account) error {
	if a == nil {
		return nil
	}
	return filepath.WalkDir(f.path, func(path string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Lchown(path, a.uid, a.gid))
	})
}

func (f *folder) remove() {
	if f.disk != nil {
		f.disk.Remove()
	}
	// This loop retries, because a server that was killed may write its last file while the folder is deleted.
	for range 50 {
		if os.RemoveAll(f.path) == nil {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	for _, release := range f.ports {
		release()
	}
	f.ports = nil
	if f.owner != nil {
		f.owner.Close()
	}
}

// parentFolder returns a temporary folder that an unprivileged account can reach. parentFolder prefers a folder in
// memory, because CREATE DATABASE writes hundreds of small files. A durable server must have its data on a disk, and on
// some systems /tmp is in memory.
func parentFolder(durable bool) (string, error) {
	candidates := []string{os.TempDir(), "/tmp", "/var/tmp"}
	switch {
	case durable:
		candidates = []string{"/var/tmp", os.TempDir()}
	case os.Getenv("TMPDIR") == "":
		candidates = append(memoryFolders(), candidates...)
	}
	for _, c := range candidates {
		if reachable(c) {
			return c, nil
		}
	}
	return "", errors.New("found no temporary folder that other accounts can reach; set TMPDIR to such a folder")
}

func reachable(path string) bool {
	path, err := filepath.Abs(path)
	if err != nil {
		return false
	}
	if os.Getuid() != 0 { // the server runs under the account of this process
		info, err := os.Stat(path)
		return err == nil && info.IsDir()
	}
	for {
		info, err := os.Stat(path)
		if err != nil || !info.IsDir() || info.Mode().Perm()&0o001 == 0 {
			return false
		}
		if path == filepath.Dir(path) {
			return true
		}
		path = filepath.Dir(path)
	}
}

// sweep removes folders in parent whose launcher was killed before it could remove them.
func sweep(parent string) {
	owners, _ := filepath.Glob(filepath.Join(parent, folderPrefix+"*", "owner"))
	for _, path := range owners {
		info, err := os.Stat(path)
		if err != nil || time.Since(info.ModTime()) < time.Minute {
			continue // skips the folder, which may be new and not locked yet
		}
		owner, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			continue
		}
		if lock(owner, false) == nil {
			unmount(filepath.Join(filepath.Dir(path), "data")) // unmounts the separate file system of the data, if there was one
			_ = os.RemoveAll(filepath.Dir(path))
		}
		owner.Close()
	}
}

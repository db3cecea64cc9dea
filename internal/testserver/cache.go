package testserver

import (
	"os"
	"path/filepath"
)

// cacheFolder returns the folder for files that later runs use again. Delete the folder to get newer servers.
func cacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil { // uses the temporary folder if the user has no home folder, as in some CI containers
		base = filepath.Join(os.TempDir(), "cache")
	}
	path := filepath.Join(base, "rowlock-servers")
	return path, os.MkdirAll(path, 0o755)
}

// alone runs the function f while it holds a lock with this name. The lock excludes all other launchers (processes
// that start servers) on this machine.
func alone(name string, f func(cache string) error) error {
	cache, err := cacheFolder()
	if err != nil {
		return err
	}
	file, err := os.OpenFile(filepath.Join(cache, name+".lock"), os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer file.Close()
	if err := lock(file, true); err != nil {
		return err
	}
	return f(cache)
}

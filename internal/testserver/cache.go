package testserver

import (
	"os"
	"path/filepath"
)

// cacheFolder keeps what is worth keeping from one run to the next. Remove it to get newer servers.
func cacheFolder() (string, error) {
	base, err := os.UserCacheDir()
	if err != nil { // no home, as in some CI containers
		base = filepath.Join(os.TempDir(), "cache")
	}
	path := filepath.Join(base, "rowlock-servers")
	return path, os.MkdirAll(path, 0o755)
}

// alone runs f while no other launcher on this machine runs one of the same name.
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

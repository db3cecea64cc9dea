package system

import (
	"slices"
	"strings"
)

// Environment is a process environment in the form of os.Environ.
type Environment []string

// Get returns the value of name. Of duplicates the last counts, as in os/exec.
func (e Environment) Get(name string) string {
	for _, entry := range slices.Backward(e) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value
		}
	}
	return ""
}

// Without returns a copy that lacks these variables.
func (e Environment) Without(names ...string) Environment {
	return slices.DeleteFunc(slices.Clone(e), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, key)
	})
}

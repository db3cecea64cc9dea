package system

import (
	"slices"
	"strings"
)

// Environment is a list of environment variables in the form of os.Environ.
type Environment []string

// Get returns the value of a variable, or an empty text. The parameter name is the variable's name. If the variable
// occurs twice, Get returns the last value, as os/exec does.
func (e Environment) Get(name string) string {
	value, _ := e.LookUp(name)
	return value
}

// LookUp is like Get, and also reports whether the variable is set.
func (e Environment) LookUp(name string) (value string, set bool) {
	for _, entry := range slices.Backward(e) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}

// Without returns a copy of e without some variables. The parameter names lists them.
func (e Environment) Without(names ...string) Environment {
	return slices.DeleteFunc(slices.Clone(e), func(entry string) bool {
		key, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, key)
	})
}

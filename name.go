package rowlock

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/rowlock/rowlock/driver"
)

var errNUL = errors.New("has a NUL character, which no SQL database can keep in a text")

// newKey checks a name and its namespace. Names are exact: case and trailing space matter.
func newKey(namespace, name string) (driver.Key, error) {
	if name == "" {
		return driver.Key{}, errors.New("rowlock: name is empty")
	}
	if err := checkText(name, driver.MaxName); err != nil {
		return driver.Key{}, fmt.Errorf("rowlock: name %s: %w", excerpt(name), err)
	}
	return driver.Key{Namespace: namespace, Name: name}, nil
}

// checkText holds the rules that every text kept in a store must meet.
func checkText(s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("has %d bytes, and %d are the most", len(s), limit)
	case !utf8.ValidString(s):
		return errors.New("is not valid UTF-8")
	case strings.ContainsRune(s, 0):
		return errNUL
	}
	return nil
}

// excerpt quotes s for an error message that stays short.
func excerpt(s string) string {
	const most = 40
	if len(s) <= most {
		return fmt.Sprintf("%q", s)
	}
	return fmt.Sprintf("%q…", s[:most])
}

// Package oneline converts the texts of errors to one line. The texts of joined errors and of some drivers have
// several lines.
package oneline

import (
	"slices"
	"strings"
)

// Join joins errors like errors.Join, but its text has one line.
func Join(errs ...error) error {
	errs = slices.DeleteFunc(slices.Clone(errs), func(err error) bool { return err == nil })
	switch len(errs) {
	case 0:
		return nil
	case 1:
		return errs[0]
	default:
		return &joined{errs}
	}
}

type joined struct{ errs []error }

func (j *joined) Error() string {
	texts := make([]string, len(j.errs))
	for i, err := range j.errs {
		texts[i] = Text(err)
	}
	return strings.Join(texts, "; ")
}

func (j *joined) Unwrap() []error { return j.errs }

// Text returns the text of err on one line, without repeated lines. A driver tries several addresses, and reports each
// failed attempt on a separate line. The driver pgx reports each address twice, once with TLS and once without.
func Text(err error) string {
	var b strings.Builder
	said := map[string]bool{}
	for line := range strings.FieldsFuncSeq(err.Error(), func(r rune) bool { return r == '\n' || r == '\r' }) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || said[line]:
			continue
		case strings.HasSuffix(b.String(), ":"):
			b.WriteByte(' ')
		case b.Len() > 0:
			b.WriteString("; ")
		}
		b.WriteString(line)
		said[line] = true
	}
	return b.String()
}

// Error returns err with a text of one line.
func Error(err error) error {
	if err == nil || !strings.ContainsAny(err.Error(), "\r\n") {
		return err
	}
	return &joined{[]error{err}}
}

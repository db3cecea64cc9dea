package cli

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Names, holders and notes come from other programs. They must not move the cursor of a terminal, change the order
// in which a line is read, or run in a shell into which a suggested command is pasted.

// still is a line with a question mark for each character that is not printed: control characters, and those that
// change the direction of what follows.
func still(line string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// quoted is s as it is if it is a plain word, and in Go's quotes otherwise.
func quoted(s string) string {
	q := strconv.Quote(s)
	if s == "" || strings.Contains(s, " ") || q[1:len(q)-1] != s {
		return q
	}
	return s
}

// shellQuoted is s as one word of a command that can be pasted into a shell. Characters that are not printed are
// written in the form $'\x1b', which bash, zsh and ksh read.
func shellQuoted(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	switch {
	case s != "" && strings.Trim(s, plain) == "":
		return s
	case still(s) == s:
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for _, r := range s {
		switch {
		case r == '\'' || r == '\\':
			b.WriteString(`\` + string(r))
		case strconv.IsPrint(r):
			b.WriteRune(r)
		default:
			for _, octet := range []byte(string(r)) {
				fmt.Fprintf(&b, `\x%02x`, octet)
			}
		}
	}
	b.WriteString("'")
	return b.String()
}

// jsonWriter writes JSON on which a terminal does nothing but print: encoding/json leaves U+009B and U+202E as they are.
type jsonWriter struct{ io.Writer }

// Write takes whole values. Outside of strings JSON is ASCII, so that an escape can stand for any other character.
func (w jsonWriter) Write(value []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(value) {
		switch {
		case r == '\n' || strconv.IsPrint(r):
			b.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(w.Writer, b.String()); err != nil {
		return 0, err
	}
	return len(value), nil
}

// Package terminal writes output for people, and for programs that read the command's output. It has texts that a
// terminal can only print, durations, tables, JSON, messages on stderr, and the line of a command that waits.
package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

// Names, holders and notes come from other programs. They must not move the cursor of a terminal or change the order in
// which a line is read. They must not be executed when a suggested command is pasted into a shell.

// Still replaces each character that is not printed with a question mark: control characters, and those that change the
// writing direction.
func Still(line string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// Quoted returns s unchanged if it is a plain word, and in Go's quotes otherwise.
func Quoted(s string) string {
	q := strconv.Quote(s)
	if s == "" || strings.Contains(s, " ") || q[1:len(q)-1] != s {
		return q
	}
	return s
}

// ShellQuoted returns s as one word of a command that can be pasted into a shell. Unprintable characters get the form
// $'\x1b', which bash, zsh and ksh read.
func ShellQuoted(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@%+=:,./-"
	switch {
	case s != "" && strings.Trim(s, plain) == "":
		return s
	case Still(s) == s:
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

// Cell returns a text for a table. It quotes a text that would break the table or the terminal.
func Cell(s string) string {
	if s == "" {
		return "-"
	}
	return Quoted(s)
}

// Note returns a text for the last cell of a line, where spaces are harmless.
func Note(s string) string {
	if q := Quoted(s); s != "" && q != s && q != `"`+s+`"` {
		return q
	}
	return s
}

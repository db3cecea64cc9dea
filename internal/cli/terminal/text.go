// Package terminal writes for people, and for programs that read what the command writes: texts of others that a terminal
// only prints, durations, tables, JSON, messages on stderr, and the line of somebody who waits.
package terminal

import (
	"fmt"
	"strconv"
	"strings"
)

// Names, holders and notes come from other programs. They must not move the cursor of a terminal, change the order
// in which a line is read, or run in a shell into which a suggested command is pasted.

// Still is a line with a question mark for each character that is not printed: control characters, and those that
// change the direction of what follows.
func Still(line string) string {
	return strings.Map(func(r rune) rune {
		if !strconv.IsPrint(r) {
			return '?'
		}
		return r
	}, line)
}

// Quoted is s as it is if it is a plain word, and in Go's quotes otherwise.
func Quoted(s string) string {
	q := strconv.Quote(s)
	if s == "" || strings.Contains(s, " ") || q[1:len(q)-1] != s {
		return q
	}
	return s
}

// ShellQuoted is s as one word of a command that can be pasted into a shell. Characters that are not printed are
// written in the form $'\x1b', which bash, zsh and ksh read.
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

// Cell is a text in a table: quoted where it would break the table, or the terminal.
func Cell(s string) string {
	if s == "" {
		return "-"
	}
	return Quoted(s)
}

// Note is the last cell of a line, in which spaces do no harm.
func Note(s string) string {
	if q := Quoted(s); s != "" && q != s && q != `"`+s+`"` {
		return q
	}
	return s
}

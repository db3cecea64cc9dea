// Package sqlbind converts the parameters of a statement to the form that a database's driver expects.
package sqlbind

import "strconv"

// Dollars replaces the question marks in statement with $1, $2 and so on, as the drivers of Postgres expect. The
// statement must have no question mark in a string literal or a comment.
func Dollars(statement string) string {
	bound := make([]byte, 0, len(statement)+8)
	n := int64(0)
	for _, c := range []byte(statement) {
		if c != '?' {
			bound = append(bound, c)
			continue
		}
		n++
		bound = strconv.AppendInt(append(bound, '$'), n, 10)
	}
	return string(bound)
}

// Package sqlbind writes the parameters of a statement as a driver wants them.
package sqlbind

import "strconv"

// Dollars has $1, $2 and so on in place of each question mark, as the drivers of Postgres want it. There may be none in
// a text or a comment.
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

package driver

import "strconv"

// Token is a fencing token: each grant of a key has a larger one than the grant before. Zero is never valid.
// It is signed because a resource stores it in a column of type bigint.
type Token int64

// String returns the token in decimal.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

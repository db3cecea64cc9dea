package driver

import "strconv"

// Token is a fencing token: each grant of a key has a larger token than the grant before. Zero is never a valid token. The type
// is signed, because a resource stores tokens in a column of type bigint.
type Token int64

// String returns the token in decimal.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

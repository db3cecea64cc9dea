package driver

import "strconv"

// Token is a fencing token: each grant of a key has a larger token than the grant before. Zero is never a valid token.
// Token is a signed integer, because databases store tokens in columns of type bigint.
type Token int64

// String returns the token in decimal.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

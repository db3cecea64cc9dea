package driver

import "strconv"

// Token is a fencing token: for one key, strictly larger with each grant. Zero is never valid.
// It is signed because the resources that compare it keep it in a bigint.
type Token int64

// String is the decimal form.
func (t Token) String() string { return strconv.FormatInt(int64(t), 10) }

package rowlock

import "github.com/rowlock/rowlock/driver"

// Token is a fencing token: strictly larger with each grant of one name, for ever. Zero is never
// valid. Hand it to whatever the lock protects, and let that refuse a smaller token than the
// largest it has seen.
type Token = driver.Token

package sqlbind

import (
	"encoding/base64"
	"strings"
)

// MySQLBytes encodes s in base64, as the statements for MySQL and MariaDB expect names. FROM_BASE64 decodes the result
// to the same bytes in every character set of a session. The result ends with a space, which FROM_BASE64 skips. With
// the space, the result is never empty. An empty text would be a problem in a MariaDB session with the sql_mode
// EMPTY_STRING_IS_NULL, which treats an empty text as NULL.
func MySQLBytes(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) + " " }

// MySQLText is like [MySQLBytes], for texts that the server stores as utf8mb4, such as holder and note. It replaces
// invalid UTF-8 with U+FFFD.
func MySQLText(s string) string { return MySQLBytes(strings.ToValidUTF8(s, "\uFFFD")) }

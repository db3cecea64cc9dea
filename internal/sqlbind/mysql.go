package sqlbind

import (
	"encoding/base64"
	"strings"
)

// MySQLBytes is s as the statements for MySQL and MariaDB take names: base64 means the same in every character set that a session may
// have, and FROM_BASE64 reads it in each of them. It is never empty, because an empty text is NULL to a session of MariaDB with
// EMPTY_STRING_IS_NULL; FROM_BASE64 skips the space.
func MySQLBytes(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) + " " }

// MySQLText is [MySQLBytes] for texts for people, which the server keeps as utf8mb4.
func MySQLText(s string) string { return MySQLBytes(strings.ToValidUTF8(s, "\uFFFD")) }

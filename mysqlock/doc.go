// Package mysqlock keeps locks as named locks of MySQL and MariaDB (GET_LOCK).
package mysqlock

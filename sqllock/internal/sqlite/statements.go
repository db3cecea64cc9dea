package sqlite

import "embed"

//go:embed sql/*.sql
var files embed.FS

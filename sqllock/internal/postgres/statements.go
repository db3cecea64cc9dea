package postgres

import "embed"

//go:embed sql/*.sql
var files embed.FS

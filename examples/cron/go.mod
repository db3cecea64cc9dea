module github.com/rowlock/rowlock/examples/cron

go 1.26.0

replace github.com/rowlock/rowlock => ../../

require (
	github.com/robfig/cron/v3 v3.0.1
	github.com/rowlock/rowlock v0.0.0-00010101000000-000000000000
	github.com/stretchr/testify v1.12.1
	go.uber.org/goleak v1.3.0
)

require (
	go.yaml.in/yaml/v3 v3.0.5 // indirect
	golang.org/x/sync v0.24.0 // indirect
	golang.org/x/sys v0.49.0 // indirect
)

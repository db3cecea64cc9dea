# Tests run against real database servers, which the launcher starts and stops around them: nothing to set up.

SERVERS = go run ./internal/testserver/cmd/testservers
COMPAT  = $(SERVERS) -engines=postgres,pgbouncer,pgbouncer_new
TOOL    = go tool -modfile=$(CURDIR)/internal/tools/go.mod

PKG      ?= ./...
RUN      ?=
FLAGS    ?=
FUZZTIME ?= 20s

GOTEST  = test -count=1 -timeout=15m -parallel=8 $(if $(RUN),-run '$(RUN)') $(FLAGS)
MODULES = . $(filter-out internal/tools,$(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod)))

.DEFAULT_GOAL := help
.PHONY: help test race lint fmt bench bench-quick fuzz servers

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

# tested runs the tests of our module, of a module of its own, or of all.
OWN    = ./compat_test ./examples/prometheus
tested = $(if $(filter $(OWN),$(PKG)),,$(SERVERS) -- go $(GOTEST) $(1) $(PKG)) \
	$(if $(filter ./...,$(PKG)),&&) \
	$(if $(filter ./... ./compat_test,$(PKG)),$(COMPAT) -- go -C compat_test $(GOTEST) $(1) .) \
	$(if $(filter ./...,$(PKG)),&&) \
	$(if $(filter ./... ./examples/prometheus,$(PKG)),go -C examples/prometheus $(GOTEST) $(1) .)

test: ## all tests; PKG=./sqllock RUN=TestAcquire FLAGS=-v for some
	$(call tested)

race: ## all tests under the race detector
	export CGO_ENABLED=1; $(call tested,-race)

lint: ## formatting, vet and staticcheck, in every module
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted (make fmt):"; echo "$$files"; exit 1; fi
	@set -e; for module in $(MODULES); do (cd $$module; echo "lint $$module"; go vet ./...; $(TOOL) staticcheck ./...); done

fmt: ## format all Go files
	gofmt -w .

bench: ## the comparison with other libraries, on servers that write to the disk
	$(SERVERS) -durable -- go -C bench run . $(FLAGS)

bench-quick: ## the same in short: does it run, not how fast
	$(SERVERS) -durable -- go -C bench run . -quick $(FLAGS)

fuzz: ## every fuzz target for FUZZTIME=20s
	@set -e; grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' --with-filename . | \
	while IFS=: read -r file target; do \
		target=$${target#func }; echo "fuzz $$target"; \
		go -C "$$(dirname "$$file")" test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) .; \
	done

servers: ## start the servers and print how to reach them; Ctrl-C stops them
	@$(SERVERS)

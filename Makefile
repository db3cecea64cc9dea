# Tests run against real database servers, which the launcher starts and stops around them: nothing to set up.

SERVERS = go run ./internal/testserver/cmd/testservers
# The engines of the main handles. The further engines of internal/testserver are for make compat.
MAIN    = -engines=postgres,mysql,mariadb,redis,etcd,zookeeper
TESTS   = go run ./internal/testing/run -first=$(LONGEST)
BENCH   = $(SERVERS) -durable -engines=postgres,mysql,mariadb,redis,etcd,zookeeper -- go -C bench run .
QUICK   = zookeeper,postgres-async,mysql,mysqlock,mariadb,advisory,redlock,etcd,redis-replica,redis,sqlite
BRIEFLY = -ttl=1500ms -workers=3 -pace=50ms
TORTURE = go -C compat_test run ./torture $(if $(SEED),-seed=$(SEED))
TOOL    = go tool -modfile=$(CURDIR)/internal/tools/go.mod

# What make release builds. The version is that of the last tag, as git sees it.
PLATFORMS ?= linux/amd64 linux/arm64 darwin/amd64 darwin/arm64 windows/amd64
VERSION   ?= $(shell git describe --tags --always --dirty 2>/dev/null)

PKG      ?= ./...
RUN      ?=
FLAGS    ?=
FUZZTIME ?= 20s
BACKEND  ?= postgres
FOR      ?= 10m
SEED     ?=
SAMPLE   ?= 30
WITH     ?=
RACE     ?=
SHARE    ?= all
N        ?= 20
LOAD     ?= 12
DEPTH    ?= 6
SCHEDULES ?= 200000

MODULES = . $(filter-out internal/tools,$(patsubst %/go.mod,%,$(wildcard */go.mod */*/go.mod)))

.DEFAULT_GOAL := help
.PHONY: help test flakes lint fmt bench bench-quick compat fuzz torture torture-dense torture-quick torture-nightly torture-release mutants mutants-random simulate sample servers release api vulncheck

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' Makefile

# The packages that take longest start first, so that none of them is left to the end with one core idle.
LONGEST  = ./sqllock,./fence,./clients/python,./cmd/rowlock,./internal/processes,./kvlock/redlock,./mysqlock,./locktest,./internal/sqlfunctions
EXAMPLES = $(patsubst %/go.mod,./%,$(wildcard examples/*/go.mod))
comma    = ,
empty    =
list     = $(subst $(empty) $(empty),$(comma),$(strip $(1)))
# What is tested: packages of our module, and modules of their own.
PACKAGES = $(filter-out $(EXAMPLES),$(PKG))
OTHERS   = -modules=$(call list,$(if $(filter ./...,$(PKG)),$(EXAMPLES),$(filter $(EXAMPLES),$(PKG))))
# The race detector finds nothing in packages that read pages and code, search a model in one goroutine, or test SQL or Python.
UNRACED  = ./clients/python $(addprefix ./internal/,docs model mutants oneline prose release searchpath sqlfunctions)
RACED    = $(if $(RACE),-race -unraced=$(call list,$(UNRACED)))

ifneq ($(RACE),)
test flakes: export CGO_ENABLED = 1
endif
test: ## all tests on the main handle of each backend; PKG=./sqllock RUN=TestAcquire FLAGS=-v for some, RACE=1 under the race detector
	$(SERVERS) $(MAIN) -- $(TESTS) $(RACED) $(if $(RUN),-run='$(RUN)') $(OTHERS) $(FLAGS) $(PACKAGES)

flakes: ## PKG=./fence N=20 LOAD=12: repeats the tests of a package beside busy loops, and prints how often each has failed
	$(SERVERS) $(MAIN) -- $(TESTS) -repeat=$(N) -load=$(LOAD) $(RACED) $(if $(RUN),-run='$(RUN)') $(OTHERS) $(FLAGS) $(PACKAGES)

lint: ## formatting, vet and staticcheck, in every module
	@files=$$(gofmt -l .); if [ -n "$$files" ]; then echo "not formatted (make fmt):"; echo "$$files"; exit 1; fi
	@set -e; for module in $(MODULES); do (cd $$module; echo "lint $$module"; go vet ./...; $(TOOL) staticcheck ./...); done

fmt: ## format all Go files
	gofmt -w .

bench: ## docs/benchmarks: beside other libraries, on servers that write to the disk; FLAGS=-only=handover for one table
	$(BENCH) $(FLAGS)

bench-quick: ## the same in short: does it run, not how fast
	go -C bench test -count=1 ./...
	$(BENCH) -quick $(FLAGS)

# The tests whose names begin with TestCompat, the module compat_test, and the matrix of releases.
compat: export ROWLOCK_COMPAT = $(SHARE)
compat: export CGO_ENABLED = 1
FURTHER = $(sort $(dir $(shell grep -rl --include='*_test.go' '^func TestCompat' . | grep -v '^./compat_test/')))
compat: ## the tests of further handles, poolers, forks and versions: all, or SHARE=1/3 of them; PKG and RUN for some
ifneq ($(PKG),./compat_test)
	$(SERVERS) -- $(TESTS) -run='$(or $(RUN),^TestCompat)' $(FLAGS) $(if $(filter ./...,$(PKG)),$(FURTHER:/=),$(PKG))
endif
ifneq ($(filter ./... ./compat_test,$(PKG)),)
	$(SERVERS) -engines=postgres,pgbouncer,pgbouncer_new,mysql,mariadb -- $(TESTS) -modules=compat_test $(if $(RUN),-run='$(RUN)') $(FLAGS)
endif
ifeq ($(PKG),./...)
	go -C compat_test run ./matrix $(if $(filter all,$(SHARE)),-page=../docs/compatibility.md,-share=$(SHARE))
endif

fuzz: ## every fuzz target for FUZZTIME=20s
	@set -e; grep -rhoE --include='*_test.go' '^func Fuzz[A-Za-z0-9_]*' --with-filename . | \
	while IFS=: read -r file target; do \
		target=$${target#func }; echo "fuzz $$target"; \
		go -C "$$(dirname "$$file")" test -run='^$$' -fuzz="^$$target\$$" -fuzztime=$(FUZZTIME) .; \
	done

torture: ## BACKEND=postgres SEED=42 FOR=10m: locks under faults, with many processes, and a checker of what they wrote down
	@$(TORTURE) -backend=$(BACKEND) -for=$(FOR) $(FLAGS)

torture-dense: ## the same with hundreds of names that are held for about a millisecond
	@$(TORTURE) -dense -backend=$(BACKEND) -for=$(FOR) $(FLAGS)

torture-quick: ## the same in short: a minute of postgres, and beside it half a minute of each other backend, three at a time
	@$(TORTURE) -backend=postgres -for=60s $(BRIEFLY) $(FLAGS) & postgres=$$!; \
	$(TORTURE) -backend=$(QUICK) -together=3 -for=30s $(BRIEFLY) $(FLAGS); others=$$?; \
	wait $$postgres && exit $$others

torture-nightly: ## every backend and every cluster for ten minutes, four at a time
	@$(TORTURE) -backend=all -together=4 -for=10m -pace=30ms $(FLAGS)

torture-release: ## the same for thirty minutes each
	@$(TORTURE) -backend=all -together=4 -for=30m -pace=30ms $(FLAGS)

mutants: ## the tests and the checker of the torture find each of these defects, in the library and in the torture's client
	@$(SERVERS) -engines=postgres,mysql,mariadb -- go run ./internal/mutants -markdown=docs/torture/mutants.md $(FLAGS)
	@$(TORTURE) -mutants -for=20s -grace=0s -workers=3 -markdown=$(CURDIR)/docs/torture

mutants-random: ## SAMPLE=30 changes of the package PKG=. that SEED=1 draws from all: do its tests find them? WITH=.,./driver for those of others
	@$(SERVERS) -engines=postgres,mysql,mariadb -- go run ./internal/mutants -random=$(SAMPLE) -seed=$(or $(SEED),1) \
		-pkg=$(or $(filter-out ./...,$(PKG)),.) -tests=$(WITH) $(FLAGS)

simulate: ## the engine in virtual time: all schedules of DEPTH=6 requests, and SCHEDULES=200000 random ones
	ROWLOCK_SIMULATE_DEPTH=$(DEPTH) ROWLOCK_SIMULATE_SCHEDULES=$(SCHEDULES) go test -count=1 -timeout=2h -v -run '^(TestEvery|TestSimulation)' ./internal/simulate

sample: ## SAMPLE=200 sentences of pages, comments and messages, drawn by SEED=1, for a reader who has not seen the project
	@go run ./internal/prose/sample -n $(SAMPLE) -seed $(or $(SEED),1)

servers: ## start the servers and print how to reach them; Ctrl-C stops them
	@$(SERVERS)

# The command as it is released: static, and the same wherever it is built with one version of Go. The Dockerfile builds it like this, too.
RELEASED = go build -trimpath -buildvcs=false -tags grpcnotrace -ldflags "-s -w -X github.com/rowlock/rowlock/internal/cli.released=$(VERSION)"
DIST    ?= dist

release: ## dist: the command for PLATFORMS, its manual page, Debian packages and SHA256SUMS
	@rm -rf $(DIST) && mkdir -p $(DIST)
	@set -e; for platform in $(PLATFORMS); do \
		os=$${platform%/*} arch=$${platform#*/}; \
		file=$(DIST)/rowlock_$${os}_$${arch}; if [ $$os = windows ]; then file=$$file.exe; fi; \
		echo "$$file"; \
		CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(RELEASED) -o $$file ./cmd/rowlock; \
	done
	@go run ./cmd/rowlock man >$(DIST)/rowlock.1
	@set -e; for shell in bash zsh fish; do go run ./cmd/rowlock completion $$shell >$(DIST)/rowlock.$$shell; done
	@set -e; for platform in $(filter linux/%,$(PLATFORMS)); do \
		if ! command -v dpkg-deb >/dev/null; then echo "no Debian package: it is made by dpkg-deb, which is not installed"; break; fi; \
		arch=$${platform#*/}; internal/release/deb.sh $(DIST)/rowlock_linux_$$arch $$arch '$(VERSION)' $(DIST); \
	done
	@cd $(DIST) && sha256sum rowlock* >SHA256SUMS

api: ## changes of the exported API that break programs, since BASE: the last tag, or the commit in internal/tools/api-base
	@internal/tools/api.sh $(or $(BASE),$(shell git describe --tags --abbrev=0 2>/dev/null || cat internal/tools/api-base))

vulncheck: ## known vulnerabilities of what is imported; asks https://vuln.go.dev, without which .ci/run says that it did not run
	@set -e; for module in $(MODULES); do (cd $$module; echo "vulncheck $$module"; $(TOOL) govulncheck ./...); done

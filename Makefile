# What takes more than one command is in hack/.
GO       ?= go
PREFIX   ?= /usr/local
FUZZTIME ?= 30s
VERSION  ?= $(shell hack/version)
ZSH      ?= share/zsh/site-functions
SOAKTIME ?= 1h
VM_SUITES ?= bullseye bookworm trixie forky trixie-backports
VM_ARCH  ?= amd64

PURE  = $(addprefix ./,$(filter-out cmd/brainbox-seccomp,$(wildcard cmd/*)))
STAMP = -s -w -X brainbox/internal/version.name=$(VERSION)
TOOL  = $(GO) tool -modfile=tools.mod

.PHONY: all demo build pure seccomp test test-root test-user integration race fuzz bench bench-dirchain bench-connects bench-bridge bench-network bench-explain lint fmt man arm64 arm64-test fuzz-corpus soak vm install uninstall sbom deb dist reproducible clean

all: build

demo: pure
	hack/demo.sh bin

build: pure seccomp

pure:
	CGO_ENABLED=0 GO='$(GO)' hack/gobuild -tags urfave_cli_no_docs -ldflags '$(STAMP)' -o bin/ $(PURE)

seccomp:
	hack/seccomp '$(STAMP)'

# Every command for arm64, in bin/arm64.
arm64:
	hack/arm64 '$(STAMP)'

# The tests for arm64 by an emulator of programs; what came of them is in docs/evidence.
arm64-test:
	hack/arm64-test docs/evidence/arm64-user.txt

test:
	hack/test both

test-root:
	hack/test root

test-user:
	hack/test user

integration:
	BRAINBOX_TEST_WHOLE=1 hack/test both ./integration/...

# On Debian's kernels in virtual machines: make vm VM_SUITES="bookworm trixie-backports".
# VM_ARCH is amd64 or arm64; VM_OUT a folder for the logs (docs/evidence/vm).
vm:
	hack/vm '$(VM_ARCH)' '$(VM_OUT)' $(VM_SUITES)

race:
	GOTESTFLAGS='-race -short' hack/test self

# Each target until it has had FUZZTIME in all: what is stopped goes on where it was.
# FUZZARGS: -match RE, -parallel N, -state FILE, -list, -reset RE.
fuzz:
	hack/fuzz $(FUZZTIME) -report docs/evidence/fuzz.txt $(FUZZARGS)

fuzz-corpus:
	hack/fuzz-corpus $(FUZZARGS)

# SOAKARGS: -seed N, -step N -v (makes one step again), -only WORD, -at-once N, -look D.
soak:
	hack/soak $(SOAKTIME) -report docs/evidence/soak.txt $(SOAKARGS)

bench: build
	hack/bench bin docs/benchmarks.md '$(STAMP)'

bench-dirchain:
	hack/bench -part docs/benchmarks.md

bench-connects: build
	hack/bench -connects bin docs/benchmarks.md '$(STAMP)'

bench-bridge: build
	hack/bench -bridge bin docs/benchmarks.md '$(STAMP)'

bench-network: build
	hack/bench -network bin docs/benchmarks.md '$(STAMP)'

bench-explain: build
	hack/bench -explain bin docs/benchmarks.md '$(STAMP)'

lint:
	$(TOOL) golangci-lint run --allow-serial-runners
	$(TOOL) staticcheck ./...

fmt:
	$(TOOL) golangci-lint fmt

man:
	hack/man man/*.[1-9]

install: build sbom
	hack/install bin '$(DESTDIR)' '$(PREFIX)' '$(ZSH)'

sbom: build
	$(GO) run ./internal/cmd/sbom bin bin/doc

deb:
	GO='$(GO)' hack/deb dist

dist:
	hack/dist dist

reproducible:
	GO='$(GO)' hack/reproducible docs/evidence/reproducible.txt

uninstall:
	hack/install -u bin '$(DESTDIR)' '$(PREFIX)' '$(ZSH)'

clean:
	rm -rf bin dist

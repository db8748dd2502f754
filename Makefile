# What takes more than one command is in hack/.
GO       ?= go
PREFIX   ?= /usr/local
FUZZTIME ?= 30s
VERSION  ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)

PURE  = $(addprefix ./,$(filter-out cmd/brainbox-seccomp,$(wildcard cmd/*)))
STAMP = -s -w -X main.version=$(VERSION)
TOOL  = $(GO) tool -modfile=tools.mod
AS    = $(GO) run ./internal/cmd/testas

.PHONY: all demo build pure seccomp test vet test-root test-user race integration fuzz bench lint fmt man install clean

all: build

demo: pure
	hack/demo.sh bin

build: pure seccomp

pure:
	CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=false -tags urfave_cli_no_docs -ldflags '$(STAMP)' -o bin/ $(PURE)

seccomp:
	hack/seccomp '$(STAMP)'

test: vet
	$(AS) -as both ./...

vet:
	hack/need cc libseccomp
	$(GO) vet ./...

test-root: vet
	$(AS) -as root ./...

test-user: vet
	$(AS) -as user ./...

race: vet
	$(AS) -as self -race -short ./...

integration: vet
	$(AS) -as both ./integration/...

fuzz:
	hack/fuzz $(FUZZTIME)

bench: build
	hack/bench bin docs/benchmarks.md

lint:
	$(TOOL) golangci-lint run --allow-serial-runners
	$(TOOL) staticcheck ./...

fmt:
	$(TOOL) golangci-lint fmt

man:
	hack/man man/*.[1-9]

install: build
	hack/install '$(DESTDIR)' '$(PREFIX)'

clean:
	rm -rf bin

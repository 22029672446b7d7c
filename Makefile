# What a newcomer runs: make demo, make test. What CI runs: .ci/run.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO      ?= go
SHELLS  := $(wildcard shims/*.sh bench/*.sh bench/*/*.sh bench/*/*/*.sh) shims/test/helper.bash .ci/run
BATS    := $(wildcard shims/test/*.bats)
STATICCHECK := $(GO) run honnef.co/go/tools/cmd/staticcheck@v0.8.2
# stage NAME COMMAND: runs the command and prints what it took.
stage = printf '== %s\n' "$(1)"; began=$$SECONDS; $(2); printf '== %s: %ds\n' "$(1)" $$((SECONDS - began))

.PHONY: help
help: ## Say what can be made
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 20

.PHONY: build
build: ## Build bin/nestor
	@$(GO) build -ldflags '-s -w' -o bin/nestor ./cmd/nestor

.PHONY: image
image: ## Write bin/nestor-image.tar, a container image from scratch, without a daemon
	@CGO_ENABLED=0 GOOS=linux $(GO) build -trimpath -ldflags '-s -w' -o bin/nestor-linux ./cmd/nestor
	@$(GO) run ./bench/image

.PHONY: demo
demo: build ## Discover this machine and two loopback ssh nodes where sshd is installed, write a portal's page
	@bench/demo.sh

.PHONY: install
install: ## Install what the tests need (Debian, as root); elsewhere say what is missing
	@bench/install.sh

.PHONY: test
test: install ## All the tests that need no cluster: unit, shims, real ssh nodes
	@$(call stage,vet,$(GO) vet ./...)
	@$(call stage,bats,bats $(BATS))
	@$(call stage,go test,$(GO) test -race -shuffle=on -timeout 20m ./...)
	@$(call stage,go test of hostile inventories,$(GO) test -run Hostile ./nodeexec/inventory)
	@[ "$$(id -u)" -eq 0 ] || printf 'NOT RUN: %s\n' \
	  'what needs root: ssh nodes in network namespaces, loop devices (go test -v names each)'

.PHONY: integration
integration: install ## The heavy tests: a real Kubernetes API, a real browser, real guests (their first build takes minutes)
	@$(call stage,control plane,$(MAKE) --no-print-directory controlplane-build)
	@$(call stage,guest,$(MAKE) --no-print-directory guest-build)
	@$(call stage,heavy tests,bench/integration.sh)

.PHONY: check
check: ## Format and lint everything
	@$(call stage,gofmt,test -z "$$(gofmt -l . | tee /dev/stderr)")
	@$(call stage,go vet,$(GO) vet ./...)
	@$(call stage,go mod tidy,$(GO) mod tidy -diff)
	@$(call stage,staticcheck,$(STATICCHECK) ./...)
	@$(call stage,shellcheck,shellcheck -x $(SHELLS) && shellcheck -x -e SC1091$(comma)SC2154$(comma)SC2209 $(BATS))
	@$(call stage,shfmt,shfmt -i 2 -ci -d $(SHELLS) $(BATS))
comma := ,

.PHONY: fuzz
fuzz: ## Fuzz every target for FUZZTIME (10s)
	@for pkg in $$($(GO) list ./...); do for f in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	  printf '== %s %s\n' "$$pkg" "$$f"; $(GO) test -run '^$$' -fuzz "^$$f$$" -fuzztime $${FUZZTIME:-10s} $$pkg; done; done

.PHONY: perf
perf: ## Measure what nestor adds to a bare ssh (as root)
	@$(GO) run ./bench/perf/brick

include bench/controlplane/controlplane.mk
include bench/guest/guest.mk

.PHONY: clean
clean: ## Remove what was built
	@rm -rf bin .work

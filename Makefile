# Works with GNU make 3.81 (macOS) and later, and any POSIX sh. It needs Go and git; the unit tests need gpg, and
# `make race` needs a C compiler. Every other program is a Go tool, pinned under e2e/tools and built into bin/tools.

.DEFAULT_GOAL := help
.NOTPARALLEL: # go itself uses all cores

# ?= lets the environment or the command line choose.
GO       ?= go
FUZZTIME ?= 2000x
E2ETIME  ?= 20m

MODULE = github.com/tofu-oci/tofu-oci

# Lazily expanded: only the targets that use it ask git.
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT  = $(shell git rev-parse --verify -q HEAD 2>/dev/null)
DATE    = $(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS = $(if $(VERSION),-X main.version=$(VERSION)) $(if $(COMMIT),-X main.commit=$(COMMIT)) $(if $(DATE),-X main.date=$(DATE))

BIN       := $(CURDIR)/bin
TOOLS     := $(CURDIR)/bin/tools
ROUND_TOOLS := bin/tools/tofu bin/tools/registry
E2E_TOOLS := $(ROUND_TOOLS) bin/tools/terraform bin/tools/regctl bin/tools/syft
PEERS     := bin/tools/crane bin/tools/regsync
LOADER    := bin/tools/vegeta
LINTER    := bin/tools/golangci-lint
DEADCODE  := bin/tools/deadcode
VALE      := bin/tools/vale
D2        := bin/tools/d2
RELEASERS := bin/tools/goreleaser bin/tools/actionlint
PLATFORMS := linux/arm64 darwin/arm64 windows/amd64

# Where the end-to-end tests and benchmarks find the programs: absolute paths.
E2E_ENV = TOFU_OCI="$(BIN)/tofu-oci" TOFU="$(TOOLS)/tofu" TERRAFORM="$(TOOLS)/terraform" REGISTRY="$(TOOLS)/registry" \
          REGCTL="$(TOOLS)/regctl" SYFT="$(TOOLS)/syft" TIME_MODULE="$(CURDIR)/e2e/tools/time"

# The end-to-end tests of make test: every flow once, with the real tofu, registry and provider.
ROUND = ^Test(TofuInstallsWhatMirrorPushed|TofuInstallsFromPulledFilesystemMirrors|TofuInstallsWhatLockWrote|TofuSeesWhatIsPromoted|BuildMatrix|LostZip)$$

# What make bench-peers does; PEERFLAGS='-rows unpack -n 3' prints a part of it instead.
PEERFLAGS ?= -page "$(CURDIR)/docs/performance.md"

# What make bench-serve does; LOADFLAGS='-n 3' prints the tables instead.
LOADFLAGS ?= -page "$(CURDIR)/docs/performance.md"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build bin/tofu-oci, one static binary
	CGO_ENABLED=0 $(GO) build -trimpath -ldflags '$(LDFLAGS)' -o "$(BIN)/" ./cmd/tofu-oci

.PHONY: quick
quick: ## check a change in a minute: vet, and the unit tests that are fast
	@.ci/phases quick vet unit-short

.PHONY: test
test: ## check a clone: vet, the fast unit tests, and a round with the real tofu, registry and provider
	@.ci/phases test vet unit-short round-tools round

.PHONY: thorough
thorough: ## run every check of a change: lint, cross, race, raceless, e2e
	@.ci/phases thorough lint cross race raceless e2e-tools e2e

# .ci/run runs the parts that a change concerns, and the workflow "Nightly" runs all of them.
NIGHTLY = faults fuzz distribution wine

.PHONY: nightly
nightly: ## run what takes longest: faults, fuzz, distribution, wine; NIGHTLY=fuzz runs a part
	@.ci/phases nightly $(NIGHTLY)

# Wants zsh, fish, mandoc, shellcheck, curl, unzip, dpkg, rpm and nix-hash; and git, since a release is one of a commit.
.PHONY: distribution
distribution: build $(RELEASERS) bin/tools/syft bin/tools/registry ## test completions, manual, packages, actions and workflows with real shells, goreleaser and actionlint
	ROOT="$(CURDIR)" TOFU_OCI="$(BIN)/tofu-oci" GORELEASER="$(TOOLS)/goreleaser" ACTIONLINT="$(TOOLS)/actionlint" SYFT="$(TOOLS)/syft" REGISTRY="$(TOOLS)/registry" \
		$(GO) test -C e2e -tags release -count=1 -timeout 40m ./release

# Wants Debian's packages wine and wine64. WINEFLAGS='-run TestRound -v' runs a part, and says more.
.PHONY: wine
wine: bin/tools/registry ## run the unit tests that have to do with the system, and a round of the program, on Windows as Wine has it
	ROOT="$(CURDIR)" REGISTRY="$(TOOLS)/registry" TIME_MODULE="$(CURDIR)/e2e/tools/time" $(GO) test -C e2e -tags wine -count=1 -timeout 40m $(WINEFLAGS) ./wine

.PHONY: gofmt
gofmt: ## check that every Go file is gofmt'ed
	@bad=$$("$$($(GO) env GOROOT)/bin/gofmt" -s -l .) || exit 1; \
	if [ -n "$$bad" ]; then echo "make gofmt: run gofmt -s -w on:"; echo "$$bad"; exit 1; fi

.PHONY: tidy
tidy: ## check that go.mod and go.sum say what the code imports
	$(GO) mod tidy -diff
	$(GO) -C e2e mod tidy -diff

.PHONY: vet
vet: ## vet the code and its tests
	$(GO) vet ./...

# -vet=off: make vet has done that. -parallel: many tests wait more than they compute.
UNIT = $(GO) test -vet=off -parallel 8 -timeout 20m

.PHONY: unit-short
unit-short: ## run the unit tests that are fast
	$(UNIT) -short ./...

.PHONY: unit
unit: ## run all unit tests
	$(UNIT) ./...

.PHONY: faults
faults: ## run 1000 random series of faults
	$(UNIT) -run '^TestRandom$$' ./internal/testing/faults -seeds 1000

# The race detector finds nothing in these packages: they run no goroutines, or take minutes to try one fault after another.
RACELESS = ^$(MODULE)$$|/(internal/testing/faults|internal/opentofu/configuration|pkg/lockfile|pkg/trust)$$

# One package at a time, so that tests with deadlines get the processors. Most scripts run many processes one after another, which takes
# a quarter of an hour with the race detector: the scripts with much concurrency run here, and make raceless runs the others.
.PHONY: race
race: ## run the unit tests with the race detector in random order
	$(GO) test -race -vet=off -shuffle=on -p 1 -timeout 30m -skip '^Test(Scripts|Pages)$$' $$($(GO) list ./... | grep -Ev '$(RACELESS)')
	$(GO) test -race -vet=off -timeout 30m -run '^TestScripts$$/^(mirror_many|mirror_several|publish_at_once|pull|copy|exec|serve|interrupt|events)$$' ./cmd/tofu-oci

.PHONY: raceless
raceless: ## run the unit tests that make race leaves out
	$(UNIT) $$($(GO) list ./... | grep -E '$(RACELESS)')
	$(UNIT) -run '^Test(Scripts|Pages)$$' ./cmd/tofu-oci

.PHONY: lint
lint: gofmt tidy dead prose $(LINTER) ## run gofmt, tidy, dead, prose, and golangci-lint on both modules
	"$(CURDIR)/$(LINTER)" run ./...
	cd e2e && "$(CURDIR)/$(LINTER)" run --config ../.golangci.yml --build-tags browser,prose,release,wine ./...

# known.txt lists what is reachable from no command on purpose: functions for users of the library, and methods that keep secrets out of text.
.PHONY: dead
dead: $(DEADCODE) ## check that the program can reach all of its functions
	@found=$$(GOOS=linux "$(CURDIR)/$(DEADCODE)" -f '{{range .Funcs}}{{$$.Path}} {{.Name}}{{"\n"}}{{end}}' ./cmd/tofu-oci) || exit 1; \
	dead=$$(echo "$$found" | grep . | grep -vxFf e2e/tools/deadcode/known.txt) || exit 0; \
	echo "make dead: no command reaches:"; echo "$$dead"; exit 1

# Vale ignores code blocks, and the help texts are code blocks in docs/cli.md: they are copied to a text file.
.PHONY: prose
prose: $(VALE) ## check the language of the documentation, the help texts, and the Go comments
	@awk '/^```text/ { help = 1; print ""; next } /^```/ { help = 0 } help' docs/cli.md > bin/help.txt
	"$(CURDIR)/$(VALE)" --minAlertLevel=error --output=line $$(git ls-files '*.md' '*.go' ':!:e2e/prose/testdata') bin/help.txt
	VALE="$(CURDIR)/$(VALE)" $(GO) test -C e2e -tags prose ./prose

.PHONY: cross
cross: ## build and vet, tests included, for linux, darwin and windows; make distribution builds all six platforms
	@for platform in $(PLATFORMS); do \
		echo "build and vet for $$platform"; \
		CGO_ENABLED=0 GOOS=$${platform%/*} GOARCH=$${platform#*/}; export CGO_ENABLED GOOS GOARCH; \
		$(GO) build ./... && $(GO) vet ./... || exit 1; \
	done

# `go test -list` prints a package's targets and then "ok PACKAGE TIME"; go fuzzes one target of one package at a time.
FUZZPACKAGES = ./...

.PHONY: fuzz
fuzz: ## run the fuzz targets of FUZZPACKAGES (default: all) for FUZZTIME (default 2000x: so many inputs)
	@listed=$$($(GO) test -list '^Fuzz' $(FUZZPACKAGES)) || { echo "$$listed"; exit 1; }; \
	set -- $$(echo "$$listed" | awk '/^Fuzz/ { name[n++] = $$1 } $$1 == "ok" { for (i = 0; i < n; i++) print $$2, name[i]; n = 0 }'); \
	while [ $$# -gt 0 ]; do \
		echo "fuzz $$2 of $$1"; \
		$(GO) test -run '^$$' -fuzz "^$$2\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x "$$1" || exit 1; \
		shift 2; \
	done

.PHONY: round-tools
round-tools: $(ROUND_TOOLS) ## build the pinned tofu and registry into bin/tools (about 8 minutes with an empty build cache)

.PHONY: round
round: build $(ROUND_TOOLS) ## test each flow with the real tofu, registry and provider
	$(E2E_ENV) $(GO) test -C e2e -short -count=1 -timeout $(E2ETIME) -run '$(ROUND)' .

.PHONY: e2e-tools
e2e-tools: $(E2E_TOOLS) ## build terraform, regctl and syft too

.PHONY: e2e
e2e: build $(E2E_TOOLS) ## run all end-to-end tests
	$(E2E_ENV) $(GO) test -C e2e -count=1 -timeout $(E2ETIME) ./...

# Wants Chromium, Node and npm. BROWSERFLAGS='-run TestFinding' runs a part, and BROWSERFLAGS=-update takes the screenshots of docs/serve.md again.
.PHONY: browser
browser: build e2e/browser/node_modules ## look at the pages of serve with Chromium, and at whether everybody can use them with axe-core
	TOFU_OCI="$(BIN)/tofu-oci" $(GO) test -C e2e -tags browser -count=1 -timeout $(E2ETIME) ./browser $(BROWSERFLAGS)

# package-lock.json pins the package by its hash; it has no address, so that npm asks the registry of its configuration.
e2e/browser/node_modules: e2e/browser/package-lock.json
	npm ci --prefix e2e/browser --ignore-scripts --no-audit --no-fund
	@touch $@

.PHONY: tools
tools: $(E2E_TOOLS) $(PEERS) $(LOADER) $(RELEASERS) $(LINTER) $(DEADCODE) $(D2) ## build the pinned tools into bin/tools

.PHONY: demo
demo: ## run the demonstration, e2e/demo
	@echo "make demo: first Go compiles tofu-oci, then a small program and a real provider. From cold caches that takes minutes, later seconds."
	@$(MAKE) --no-print-directory build
	CGO_ENABLED=0 TOFU_OCI="$(BIN)/tofu-oci" $(GO) run -C e2e -trimpath ./demo

.PHONY: recording
recording: build ## run the demonstration, and draw it anew as docs/images/demo.svg
	CGO_ENABLED=0 TOFU_OCI="$(BIN)/tofu-oci" $(GO) run -C e2e -trimpath ./demo -svg docs/images/demo.svg

.PHONY: bench
bench: build $(E2E_TOOLS) ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(E2E_ENV) $(GO) test -C e2e -run '^$$' -bench . -timeout $(E2ETIME) ./...

.PHONY: bench-peers
bench-peers: build $(E2E_TOOLS) $(PEERS) ## measure beside other tools, and write the tables into docs/performance.md
	$(E2E_ENV) CRANE="$(TOOLS)/crane" REGSYNC="$(TOOLS)/regsync" $(GO) run -C e2e ./peers -disk "$(BIN)" $(PEERFLAGS)

.PHONY: bench-serve
bench-serve: build $(LOADER) ## measure serve beside nginx and under load, and write the tables into docs/performance.md; wants Linux
	TOFU_OCI="$(BIN)/tofu-oci" VEGETA="$(TOOLS)/vegeta" $(GO) run -C e2e ./load -disk "$(BIN)" $(LOADFLAGS)

.PHONY: soak
soak: build ## occupy a server with stalled and idle clients, then ask one for everything for ten minutes while its registry misbehaves; SOAKFLAGS='-last 2m' is less
	TOFU_OCI="$(BIN)/tofu-oci" $(GO) run -C e2e ./soak $(SOAKFLAGS)

.PHONY: docs
docs: ## write docs/cli.md and the schemas of the output again, from the commands
	$(GO) test ./cmd/tofu-oci ./internal/report -run 'TestDocs|TestDocuments' -update

.PHONY: diagrams
diagrams: $(D2) ## draw docs/images/*.svg from docs/diagrams/*.d2, for light and dark mode
	@for source in docs/diagrams/*.d2; do \
		name=$${source##*/}; \
		"$(CURDIR)/$(D2)" --layout dagre --theme 0 --dark-theme 200 --pad 20 "$$source" "docs/images/$${name%.d2}.svg" || exit 1; \
		chmod 644 "docs/images/$${name%.d2}.svg"; \
	done

.PHONY: clean
clean: ## remove what the other targets made
	rm -rf bin demo e2e/browser/node_modules

# Each tool is a module of its own with one `tool` directive, so that no tool's dependencies reach another or the product.
# touch: go leaves an output alone that is still right, and make would ask again each time.
$(E2E_TOOLS) $(PEERS) $(LOADER) $(RELEASERS) $(DEADCODE) $(D2): bin/tools/%: e2e/tools/%/go.mod e2e/tools/%/go.sum
	$(GO) build -C e2e/tools/$* -o "$(CURDIR)/$@" tool
	@touch $@

$(VALE): e2e/tools/vale/go.mod e2e/tools/vale/go.sum
	CGO_ENABLED=1 $(GO) build -C e2e/tools/vale -o "$(CURDIR)/$@" tool
	@touch $@

$(LINTER): e2e/tools/lint/go.mod e2e/tools/lint/go.sum
	$(GO) build -C e2e/tools/lint -o "$(CURDIR)/$@" tool
	@touch $@

# Works with GNU make 3.81 (macOS) and later, and any POSIX sh. All targets need Go and git, the unit tests need gpg, and the race detector
# and Vale need a C compiler. The Go tools in e2e/tools are pinned and built into bin/tools.

.DEFAULT_GOAL := help
.NOTPARALLEL: # the go command uses all cores

# The environment and the command line override ?=.
GO       ?= go
FUZZTIME ?= 2000x
E2ETIME  ?= 90m

# Without the checkout's path in the output, all checkouts on a machine share the results in Go's build cache. Without cgo, the tests run
# the code that is released.
export GOFLAGS := $(strip $(filter-out -trimpath,$(shell $(GO) env GOFLAGS)) -trimpath)
export CGO_ENABLED = 0

# Expanded only in targets that use this variable, because the expansion runs git.
VERSION = $(shell git describe --tags --always --dirty 2>/dev/null)
COMMIT  = $(shell git rev-parse --verify -q HEAD 2>/dev/null)
DATE    = $(shell git log -1 --format=%cI 2>/dev/null)
LDFLAGS = $(if $(VERSION),-X main.version=$(VERSION)) $(if $(COMMIT),-X main.commit=$(COMMIT)) $(if $(DATE),-X main.date=$(DATE))

BIN       := $(CURDIR)/bin
TOOLS     := $(CURDIR)/bin/tools
ROUND_TOOLS := bin/tools/tofu bin/tools/registry
E2E_TOOLS := $(ROUND_TOOLS) bin/tools/terraform bin/tools/regctl bin/tools/syft bin/tools/cosign bin/tools/govulncheck bin/tools/opa bin/tools/crane
PEERS     := bin/tools/regsync
MODULE_PEERS := bin/tools/oras
LOADER    := bin/tools/vegeta
LINTER    := bin/tools/golangci-lint
DEADCODE  := bin/tools/deadcode
VALE      := bin/tools/vale
D2        := bin/tools/d2
HUGO      := bin/tools/hugo
RELEASERS := bin/tools/goreleaser bin/tools/actionlint
PLATFORMS := linux/amd64 darwin/arm64 windows/amd64

# Absolute paths of the programs for end-to-end tests and benchmarks.
E2E_ENV = TOFU_OCI="$(BIN)/tofu-oci" TOFU="$(TOOLS)/tofu" TERRAFORM="$(TOOLS)/terraform" REGISTRY="$(TOOLS)/registry" \
          REGCTL="$(TOOLS)/regctl" SYFT="$(TOOLS)/syft" COSIGN="$(TOOLS)/cosign" GOVULNCHECK="$(TOOLS)/govulncheck" OPA="$(TOOLS)/opa" CRANE="$(TOOLS)/crane" \
          TIME_MODULE="$(CURDIR)/e2e/tools/time"

# The end-to-end tests of make test cover each flow once with the real tofu, registry, and provider.
ROUND = ^Test(TofuInstallsMirroredProviders|TofuInstallsFromPulledFilesystemMirrors|TofuInstallsLockedProviders|TofuInstallsPromotedRelease|BuildMatrix|LostZip)$$

# By default, make bench-peers updates the page. PEERFLAGS='-rows unpack -n 3' prints only the matching rows instead.
PEERFLAGS ?= -page "$(CURDIR)/e2e/RESULTS.md"

# By default, make bench-serve updates the page. LOADFLAGS='-n 3' prints the tables instead.
LOADFLAGS ?= -page "$(CURDIR)/e2e/RESULTS.md"

.PHONY: help
help: ## list the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  make %-13s %s\n", $$1, $$2 }' Makefile

.PHONY: build
build: ## build bin/tofu-oci, one static binary
	$(GO) build -ldflags '$(LDFLAGS)' -o "$(BIN)/" ./cmd/tofu-oci

.PHONY: quick
quick: ## check a change in a minute: vet and the fast unit tests
	@.ci/phases quick vet unit-short

.PHONY: test
test: ## check a clone: all unit tests, and the main flows with the real tofu, registry, and provider
	@.ci/phases test unit round-tools round

# The browser tests are added if the pages that they test are affected. CHECK='lint test' runs only these phases.
CHECK = gofmt tidy dead prose cross lint test race-short $(shell .ci/affected browser site-test)

.PHONY: check
check: ## decide whether a change can be merged (.ci/run installs the requirements first): gofmt, tidy, dead, prose, cross, lint, test, race-short
	@.ci/phases check $(CHECK)

.PHONY: check-phases nightly-phases
check-phases:
	@echo $(CHECK)
nightly-phases:
	@echo $(NIGHTLY)

NIGHTLY = race e2e-tools e2e browser site-test faults fuzz distribution wine programs

.PHONY: nightly
nightly: ## run what takes too long for each change: race, e2e, browser, site-test, faults, fuzz, distribution, wine, programs
	@.ci/phases nightly $(NIGHTLY)

.PHONY: affected
affected: ## run the parts of make nightly that differ from origin/main, or from BASE
	@$(MAKE) --no-print-directory nightly NIGHTLY="$$(.ci/affected $(NIGHTLY) | tr '\n' ' ')" \
		FUZZPACKAGES="$$(.ci/affected files | sed -nE 's#^((cmd|internal|pkg)/.*)/[^/]*\.go$$#./\1#p' | sort -u | tr '\n' ' ')"

# Requires zsh, fish, mandoc, shellcheck, curl, unzip, dpkg, rpm, nix-hash, and a Git checkout.
.PHONY: distribution
distribution: build $(RELEASERS) bin/tools/syft bin/tools/registry ## test completions, manual pages, packages, actions, and workflows with real shells, goreleaser, and actionlint
	ROOT="$(CURDIR)" TOFU_OCI="$(BIN)/tofu-oci" GORELEASER="$(TOOLS)/goreleaser" ACTIONLINT="$(TOOLS)/actionlint" SYFT="$(TOOLS)/syft" REGISTRY="$(TOOLS)/registry" \
		$(GO) test -C e2e -tags release -count=1 -timeout 120m ./release

# Requires the Debian packages wine and wine64. WINEFLAGS='-run TestRound -v' runs one test with more output.
.PHONY: wine
wine: bin/tools/registry ## run platform-dependent unit tests and the main flows of the Windows build in Wine
	ROOT="$(CURDIR)" REGISTRY="$(TOOLS)/registry" TIME_MODULE="$(CURDIR)/e2e/tools/time" $(GO) test -C e2e -tags wine -count=1 -timeout 120m $(WINEFLAGS) ./wine

.PHONY: gofmt
gofmt: ## check the formatting of all Go files
	@bad=$$("$$($(GO) env GOROOT)/bin/gofmt" -s -l .) || exit 1; \
	if [ -n "$$bad" ]; then echo "make gofmt: run gofmt -s -w on:"; echo "$$bad"; exit 1; fi

.PHONY: tidy
tidy: ## check that go.mod and go.sum match the imports
	$(GO) mod tidy -diff
	$(GO) -C e2e mod tidy -diff

.PHONY: vet
vet: ## vet the code and its tests
	$(GO) vet ./...

# Tests start thousands of short processes and write many small files. They take half the time if garbage is collected rarely and the files
# are in memory, in /dev/shm. Most containers have a small one, or one from which programs can't be started.
MEMORY = $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4194304 { print $$6 }' | while read -r dir; do \
	grep -q " $$dir [^ ]* [^ ]*noexec" /proc/mounts || echo "TMPDIR=$$dir"; done)

# -vet=off, because make lint and make vet do this.
TEST = $(MEMORY) GOGC=400 $(GO) test -vet=off

# -parallel, because many tests spend most of their time waiting.
UNIT = $(TEST) -parallel 8 -timeout 60m

.PHONY: unit-short
unit-short: ## run the fast unit tests
	$(UNIT) -short ./...

# The tests of the commands take longest and come last, because go test prints the results in this order.
.PHONY: unit
unit: ## run all unit tests and testscripts
	$(UNIT) -count=1 $$($(GO) list ./... | grep -v /cmd/) ./cmd/...

.PHONY: faults
faults: ## run 1000 random series of faults, and plans and runs of sync
	$(UNIT) -run '^Test(Random|SyncRandom|SyncKilled)$$' ./internal/testing/faults -seeds 1000
	$(UNIT) -run '^(TestPlanProperties|TestRunsWithFaults)$$' ./internal/sync -worlds 100000 -histories 500

RACE = CGO_ENABLED=1 $(TEST) -race

# Packages that start goroutines.
CONCURRENT = $$(grep -rlE --include='*.go' --exclude='*_test.go' --exclude-dir=testing '^[[:space:]]+go [A-Za-z.]+\(|\.Go\(|schedule\.(Each|All)\(' cmd internal pkg | \
	xargs -n 1 dirname | sort -u | sed 's,^,./,')

.PHONY: race-short
race-short: ## run the fast unit tests of concurrent packages, and the scripts with concurrent transfers, with the race detector
	$(RACE) -short -count=1 -timeout 60m $(CONCURRENT)
	$(RACE) -count=1 -timeout 60m -run '^TestScripts$$/^(mirror_many|mirror_several|publish_at_once|serve|interrupt|events)$$' ./cmd/tofu-oci

# RACEFLAGS=-count=3 repeats each test.
.PHONY: race
race: ## run all unit tests with the race detector, in random order
	$(RACE) -shuffle=on -timeout 120m $(RACEFLAGS) ./...

.PHONY: lint
lint: $(LINTER) ## run golangci-lint on both modules
	"$(CURDIR)/$(LINTER)" run ./...
	cd e2e && "$(CURDIR)/$(LINTER)" run --config ../.golangci.yml --build-tags browser,prose,release,wine ./...

# known.txt lists functions that are intentionally unreachable from the commands: functions for library users, and methods that redact secrets.
.PHONY: dead
dead: $(DEADCODE) ## check that all functions are reachable from the program
	@found=$$(GOOS=linux "$(CURDIR)/$(DEADCODE)" -f '{{range .Funcs}}{{$$.Path}} {{.Name}}{{"\n"}}{{end}}' ./cmd/tofu-oci) || exit 1; \
	dead=$$(echo "$$found" | grep . | grep -vxFf e2e/tools/deadcode/known.txt) || exit 0; \
	echo "make dead: no command reaches:"; echo "$$dead"; exit 1

# Vale ignores code blocks, so the help texts are extracted from the code blocks in docs/cli.md.
.PHONY: prose
prose: $(VALE) ## check the language of the documentation, the help texts, and the Go comments
	@awk '/^```text/ { help = 1; print ""; next } /^```/ { help = 0 } help' docs/cli.md > bin/help.txt
	"$(CURDIR)/$(VALE)" --minAlertLevel=error --output=line $$(git ls-files '*.md' '*.go' ':!:e2e/prose/testdata') bin/help.txt
	VALE="$(CURDIR)/$(VALE)" $(GO) test -C e2e -tags prose -count=1 ./prose

.PHONY: cross
cross: ## build for Linux, macOS, and Windows, vet for Windows, and build and vet the programs among the tests
	@for platform in $(PLATFORMS); do \
		echo "build for $$platform"; \
		GOOS=$${platform%/*} GOARCH=$${platform#*/} $(GO) build ./... || exit 1; \
	done
	GOOS=windows GOARCH=amd64 $(GO) vet ./...
	$(GO) build -C e2e ./...
	$(GO) vet -C e2e -tags browser,prose,release,wine ./...

# `go test -list` prints the targets of a package and then "ok PACKAGE TIME". Go fuzzes one target at a time.
FUZZPACKAGES = ./...

.PHONY: fuzz
fuzz: ## run the fuzz targets of FUZZPACKAGES (default: all) for FUZZTIME (default: 2000x, which means 2000 inputs)
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
round: build $(ROUND_TOOLS) ## test the main flows with the real tofu, registry, and provider
	$(E2E_ENV) $(GO) test -C e2e -short -count=1 -timeout $(E2ETIME) -run '$(ROUND)' .

.PHONY: e2e-tools
e2e-tools: $(E2E_TOOLS) ## build terraform and the programs that examine releases

# Requires the Debian package docker-registry. E2EFLAGS='-v -run TestRegistries' prints which steps work with which registry.
.PHONY: e2e
e2e: build $(E2E_TOOLS) ## run all end-to-end tests
	$(E2E_ENV) $(GO) test -C e2e -count=1 -timeout $(E2ETIME) $(E2EFLAGS) ./...

# Requires Chromium, Node, and npm. BROWSERFLAGS='-run TestFinding' runs one test, and BROWSERFLAGS=-update updates the screenshots in docs/serve.md.
.PHONY: browser
browser: build e2e/browser/node_modules ## test the web pages of serve with Chromium, including accessibility with axe-core
	TOFU_OCI="$(BIN)/tofu-oci" $(GO) test -C e2e -tags browser -count=1 -timeout $(E2ETIME) -skip ^TestSite ./browser $(BROWSERFLAGS)

# Requires Chromium, Node, and npm.
.PHONY: site-test
site-test: build site e2e/browser/node_modules ## test the documentation site with Chromium: links, sizes, accessibility, search, and the version switch
	TOFU_OCI="$(BIN)/tofu-oci" ROOT="$(CURDIR)" HUGO="$(CURDIR)/$(HUGO)" $(GO) test -C e2e -tags browser -count=1 -timeout $(E2ETIME) -run ^TestSite ./browser

# package-lock.json pins the package by hash, without a URL, so that npm uses the configured registry.
e2e/browser/node_modules site/node_modules: %/node_modules: %/package-lock.json
	npm ci --prefix $* --ignore-scripts --no-audit --no-fund
	@touch $@

# Broken links and pages that the navigation lacks fail the build. SITEFLAGS='--baseURL URL' sets a different address.
.PHONY: site
site: $(HUGO) site/node_modules ## build the documentation site into bin/site, with its search index, and validate its HTML; requires Node and npm
	"$(CURDIR)/$(HUGO)" --source site --quiet --minify --cleanDestinationDir --destination "$(BIN)/site" $(SITEFLAGS)
	site/node_modules/.bin/pagefind --site "$(BIN)/site" --quiet
	cd site && node_modules/.bin/html-validate --config .htmlvalidate.json "$(BIN)/site/**/*.html"

.PHONY: site-serve
site-serve: site ## serve the documentation site on loopback, and rebuild changed pages; search uses the index of make site
	"$(CURDIR)/$(HUGO)" server --source site --bind 127.0.0.1 --baseURL http://127.0.0.1:1313/ --renderToMemory=false --destination "$(BIN)/site"

.PHONY: tools
tools: $(E2E_TOOLS) $(PEERS) $(LOADER) $(RELEASERS) $(LINTER) $(DEADCODE) $(D2) $(HUGO) ## build the pinned tools into bin/tools

.PHONY: demo
demo: ## run the demonstration, e2e/demo; its last step uses tofu from PATH
	@echo "make demo: compiles tofu-oci, a small program, and a real provider. The first run takes minutes, later runs seconds."
	@began=$$(date +%s); $(MAKE) --no-print-directory build && \
	TOFU_OCI="$(BIN)/tofu-oci" $(GO) run -C e2e ./demo -began "$$began"

.PHONY: recording
recording: build ## run the demonstration and generate docs/images/demo.svg
	TOFU_OCI="$(BIN)/tofu-oci" $(GO) run -C e2e ./demo -svg docs/images/demo.svg

.PHONY: bench
bench: build $(E2E_TOOLS) $(MODULE_PEERS) ## run the benchmarks
	$(GO) test -run '^$$' -bench . -benchmem ./...
	$(E2E_ENV) ORAS="$(TOOLS)/oras" $(GO) test -C e2e -run '^$$' -bench . -timeout $(E2ETIME) ./...

.PHONY: bench-peers
bench-peers: build $(E2E_TOOLS) $(PEERS) $(MODULE_PEERS) ## compare with other tools, and write the table to e2e/RESULTS.md
	$(E2E_ENV) REGSYNC="$(TOOLS)/regsync" ORAS="$(TOOLS)/oras" $(GO) run -C e2e ./peers -disk "$(BIN)" $(PEERFLAGS)

.PHONY: bench-serve
bench-serve: build $(LOADER) ## measure serve under load and compared with nginx, and write the tables to e2e/RESULTS.md; requires Linux
	TOFU_OCI="$(BIN)/tofu-oci" VEGETA="$(TOOLS)/vegeta" $(GO) run -C e2e ./load -disk "$(BIN)" $(LOADFLAGS)

.PHONY: soak
soak: build ## test serve with stalled and idle clients, then for ten minutes with a faulty registry; SOAKFLAGS='-last 2m' shortens it
	TOFU_OCI="$(BIN)/tofu-oci" $(GO) run -C e2e ./soak $(SOAKFLAGS)

# -n 1 and short times, because this only checks that the programs work.
.PHONY: programs
programs: build $(E2E_TOOLS) $(PEERS) $(MODULE_PEERS) $(LOADER) ## run the demonstration and, briefly, the programs that compare, load, and soak
	TOFU_OCI="$(BIN)/tofu-oci" PATH="$(TOOLS):$$PATH" $(GO) run -C e2e ./demo -svg bin/demo.svg
	$(MAKE) --no-print-directory bench-peers PEERFLAGS='-n 1'
	$(MAKE) --no-print-directory bench-serve LOADFLAGS='-n 1 -attack 2s'
	$(MAKE) --no-print-directory soak SOAKFLAGS='-last 1m'

.PHONY: docs
docs: ## generate docs/cli.md and the JSON Schemas of the output
	$(GO) test ./cmd/tofu-oci ./internal/report -run 'TestDocs|TestDocuments' -update

.PHONY: diagrams
diagrams: $(D2) ## generate docs/images/*.svg from docs/diagrams/*.d2, for light and dark mode
	@for source in docs/diagrams/*.d2; do \
		name=$${source##*/}; \
		"$(CURDIR)/$(D2)" --layout dagre --theme 0 --dark-theme 200 --pad 20 "$$source" "docs/images/$${name%.d2}.svg" || exit 1; \
		chmod 644 "docs/images/$${name%.d2}.svg"; \
	done

.PHONY: clean
clean: ## remove all generated files that are not committed
	rm -rf bin demo e2e/browser/node_modules site/node_modules

# Each tool has its own module with one `tool` directive, so a tool's dependencies affect neither the remaining tools nor the product.
# touch updates the timestamp. go doesn't update the timestamp of an unchanged output, so make would run go again each time.
$(E2E_TOOLS) $(PEERS) $(MODULE_PEERS) $(LOADER) $(RELEASERS) $(DEADCODE) $(D2) $(HUGO): bin/tools/%: e2e/tools/%/go.mod e2e/tools/%/go.sum
	$(GO) build -C e2e/tools/$* -o "$(CURDIR)/$@" tool
	@touch $@

$(VALE): e2e/tools/vale/go.mod e2e/tools/vale/go.sum
	CGO_ENABLED=1 $(GO) build -C e2e/tools/vale -o "$(CURDIR)/$@" tool
	@touch $@

$(LINTER): e2e/tools/lint/go.mod e2e/tools/lint/go.sum
	$(GO) build -C e2e/tools/lint -o "$(CURDIR)/$@" tool
	@touch $@

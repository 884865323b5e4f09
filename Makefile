SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
# Targets run in the order written: two of them at once would race packages twice and fight for the same cores. Those of static do not.
ifndef SIDE_BY_SIDE
.NOTPARALLEL:
endif

GO ?= go
MODULE := github.com/linkwright/linkwright
LINT := bin/tools/golangci-lint
VULN := bin/tools/govulncheck
PROMTOOL := bin/tools/promtool
GORELEASER := bin/tools/goreleaser

# Their tests on control planes run one package after another: side by side, they take more processor time (docs/design/0050).
LONE_PACKAGES := cmd/linkwright sync deploy
# Directories whose tests start real control planes when LINKWRIGHT_CLUSTERS is set, those that take longest first. `make test` runs
# these with the race detector.
CLUSTER_PACKAGES := sync/cluster rollout/restart rollout/survey sync/lease hack/faultproxy
# These it runs on control planes without the race detector, which would take a third of their time. `make soak` races them.
UNRACED_PACKAGES := $(LONE_PACKAGES) hack/pages render hack/testbed hack/demo hack/history
# What these test without control planes is raced.
RACED_APART := sync cmd/linkwright render
# Those of the others that take longest: they are begun first.
LONG_PACKAGES := sync/source render/overlay
# It starts no goroutine. Its tests run without the race detector, and those that plan in several goroutines with it.
PLANNER := sync/plan
# How many clusters the demo runs: 2 to 5.
CLUSTERS ?= 3
# Where `make image` pushes to; empty: nowhere.
PUSH ?=
# For `make release`: the address of the directory that the archives are published in; empty: a placeholder.
BASE_URL ?=
# Per package, like go test's own flag.
TIMEOUT ?= 15m
CLUSTER_TIMEOUT ?= 30m
# Tests selected, as in `make race RUN=TestPoll PKG=./sync/source`.
RUN ?= .
PKG ?= ./...
# For each fuzz target; `make fuzz FUZZTIME=10m` looks longer.
FUZZTIME ?= 3s
# For `make soak-histories`: how many in memory, in memory with renamed clusters and with other tokens each, and on real API servers, from which seed on.
HISTORIES ?= 300000
RENAMES ?= 20000
HISTORIES_REAL ?= 200
HISTORY_SEED ?= 70000000
SOAK_TIMEOUT ?= 12h

# The linter runs vet's analyzers, so the tests need not do it again.
race := $(GO) test -race -vet=off -run '$(RUN)'

.PHONY: help build controlplane kubectl check test bench-once demo demo-svg clusters image image-test chart chart-test release release-test monitoring-test generate fmt tidy clean format vet lint tidy-check imports vuln race race-clusters fuzz soak soak-histories bench bench-isolation tools

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "%-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

# Without cgo: static, for images without a libc, and half as big. With it kustomize's library brings in Go plugins, for whose
# sake the linker would keep everything.
build: ## build bin/linkwright
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/linkwright ./cmd/linkwright

controlplane: ## build the real control planes that tests and the demo run on
	@hack/controlplane/build.sh

# At the version of the control planes: the outputs that the pages show are its own.
kubectl: ## build bin/kubectl, with which tests follow the pages
	CGO_ENABLED=0 $(GO) build -C hack/kubectl -trimpath -o $(CURDIR)/bin/kubectl .

# Equal byte for byte each time it is built of one commit. It is a module of its own, which keeps registries and SBOMs out of linkwright's.
image: ## build the container image, an OCI layout and a tarball in bin/image; PUSH=REGISTRY/REPOSITORY:TAG pushes it
	$(GO) build -C hack/image -o $(CURDIR)/bin/image-builder .
	bin/image-builder -push '$(PUSH)'

# A module of its own, too: Helm is as large as linkwright.
chart: ## lint the Helm chart, and write bin/chart/linkwright-VERSION.tgz, equal byte for byte each time
	$(GO) build -C hack/chart -o $(CURDIR)/bin/chart-builder .
	bin/chart-builder

# -count=1: the cache of test results knows no files outside of the module, such as the chart.
chart-test: ## render the Helm chart, and install, upgrade and uninstall it on a real API server
	LINKWRIGHT_CLUSTERS=1 $(GO) -C hack/chart test -vet=off -count=1 -timeout $(CLUSTER_TIMEOUT) .

.PHONY: chart-render
chart-render:
	LINKWRIGHT_CLUSTERS= $(GO) -C hack/chart test -vet=off -count=1 .

image-test: ## build the image twice, push it to a registry on this machine, pull it, run it
	$(GO) -C hack/image test -vet=off .

# Offline, once all modules are there. hack/release/build.sh stops if the checkout differs from its commit.
release: $(GORELEASER) ## build all that a release publishes in bin/release; BASE_URL=ADDRESS goes into the krew manifest
	GO='$(GO)' BASE_URL='$(BASE_URL)' hack/release/build.sh $(GORELEASER)

# Not part of test: it links the program fourteen times.
release-test: $(GORELEASER) ## build the release of the last commit twice, compare the files, unpack them, run what is in them
	LINKWRIGHT_RELEASE=$(CURDIR)/$(GORELEASER) $(GO) test -vet=off -count=1 -v -timeout $(TIMEOUT) ./hack/release

# Not part of test: Prometheus is large to build. Its parser is not, with which test checks every query.
monitoring-test: $(PROMTOOL) ## run the tests of the alerts, and every query of deploy/monitoring in a Prometheus that scrapes linkwright
	LINKWRIGHT_PROMTOOL=$(CURDIR)/$(PROMTOOL) $(GO) -C hack/prometheus test -vet=off -count=1 .
	LINKWRIGHT_PROMETHEUS=$(CURDIR)/bin/tools/prometheus $(GO) test -vet=off -count=1 -run '^TestMonitoring$$' ./sync

.PHONY: monitoring-queries
monitoring-queries:
	$(GO) -C hack/prometheus test -vet=off -count=1 .

check: static chart-render race ## format, lint, tidy, imports, and tests of what needs no cluster

test: static controlplane build kubectl bench-once clusters-and-race chart-test ## check, and everything on real control planes

# Compilers, the linter and tests live for seconds to minutes: with rare garbage collection they take a sixth to a tenth less of the
# processors. Figures are taken without it.
check test: export GOGC = 400
# What is built has no path of this machine in it. So all checkouts share what the go command has built.
export GOFLAGS := $(strip $(shell $(GO) env GOFLAGS) -trimpath)
# Each program with the race detector sleeps for this long before it ends, so that other goroutines can still meet: a second if not told
# otherwise, and there are some hundred such programs.
export GORACE ?= atexit_sleep_ms=50
# The first build of Kubernetes needs the memory.
controlplane: export GOGC = 100

# Built and then run: `go run` ends at SIGTERM without ending its child, which would leave clusters behind.
demo: demo-size controlplane build ## CLUSTERS (2 to 5) linked from a local Git repository; Ctrl-C cleans up
	$(GO) build -o bin/demo ./hack/demo
	CLUSTERS=$(CLUSTERS) exec bin/demo

# Before the first build of the control planes, which takes minutes.
.PHONY: demo-size
demo-size:
	@case '$(CLUSTERS)' in [2-5]) ;; *) echo 'CLUSTERS=$(CLUSTERS): the demo runs 2 to 5 clusters' >&2; exit 2 ;; esac

# With kubectl, which the tutorials use.
clusters: controlplane build kubectl ## start two clusters with Linkerd, west and east, for the tutorials; Ctrl-C cleans up
	$(GO) build -o bin/demo ./hack/demo
	CLUSTERS=2 ONLY=clusters exec bin/demo

demo-svg: ## record a run of the demo as docs/demo.svg
	DEMO_ONCE=1 DEMO_SVG=docs/demo.svg $(MAKE) demo

generate: ## write what is made of the types of api and of answers, and their comments, and of the Helm chart
	$(GO) generate ./api
	$(GO) test ./examples -run TestDeclarations -update
	$(GO) test ./sync/report/output -update
	$(GO) build -C hack/chart -o $(CURDIR)/bin/chart-builder .
	bin/chart-builder -generate

fmt: $(LINT) ## format every Go file
	$(LINT) fmt

tidy: ## tidy the modules
	$(GO) mod tidy
	$(GO) -C bench mod tidy
	$(GO) -C hack/chart mod tidy
	$(GO) -C hack/controlplane mod tidy
	$(GO) -C hack/goreleaser mod tidy
	$(GO) -C hack/image mod tidy
	$(GO) -C hack/kubectl mod tidy
	$(GO) -C hack/prometheus mod tidy
	$(GO) -C hack/tools mod tidy

clean: ## remove what was built
	rm -rf bin

# What leaves one of two processors idle for most of its time. The linter takes longest: it begins first. All need the packages compiled, which
# each would do by itself.
.PHONY: static
static: $(LINT) $(VULN)
	$(GO) build ./...
	$(MAKE) SIDE_BY_SIDE=yes -j 3 --output-sync=target lint unraced $(beside) format vuln tidy-check imports monitoring-queries

# It needs a commit of all that is there, as make check does not.
test: beside := image-test

format: $(LINT) ## check the format
	$(LINT) fmt --diff

# Not part of check: the linter's govet runs the same analyzers.
vet: ## go vet
	$(GO) vet ./...
	$(GO) -C bench vet ./...
	$(GO) -C hack/chart vet .
	$(GO) -C hack/image vet .
	$(GO) -C hack/prometheus vet .

lint: $(LINT) ## golangci-lint
	$(LINT) run
	cd bench && ../$(LINT) run
	cd hack/chart && ../../$(LINT) run
	cd hack/image && ../../$(LINT) run
	cd hack/prometheus && ../../$(LINT) run

tidy-check: ## go.mod and go.sum say what the code needs
	$(GO) mod tidy -diff
	$(GO) -C bench mod tidy -diff
	$(GO) -C hack/chart mod tidy -diff
	$(GO) -C hack/controlplane mod tidy -diff
	$(GO) -C hack/image mod tidy -diff
	$(GO) -C hack/kubectl mod tidy -diff

# -count=1: the test asks the go command about the tree, which the cache of test results cannot know.
imports: ## the table of imports
	$(GO) test -count=1 ./hack/imports

race: ## tests of PKG that need no cluster
	LINKWRIGHT_CLUSTERS= $(race) -short -timeout $(TIMEOUT) $(PKG)

# Tests in which one goroutine works long: short runs, which are those with the race detector, leave them out. Here they run ten times as
# fast.
.PHONY: unraced
unraced:
	LINKWRIGHT_CLUSTERS= $(GO) test -vet=off -timeout $(TIMEOUT) ./$(PLANNER)
	LINKWRIGHT_CLUSTERS= $(GO) test -vet=off -timeout $(TIMEOUT) -run 'Lineage|Bounds|IndexEnds|MuchIsFast' ./sync/source ./object
	LINKWRIGHT_CLUSTERS= $(GO) test -vet=off -timeout $(TIMEOUT) ./hack/bound

# Tests that need a cluster skip themselves if LINKWRIGHT_CLUSTERS is empty. Each package starts control planes of its own, four tests of
# it at the same time, or six of a package that runs alone. If three such packages begin together, two cores take minutes to start all their
# servers, and some give up.
on_clusters := LINKWRIGHT_CLUSTERS=1 $(GO) test -vet=off -run '$(RUN)' -p 2 -parallel 4 -timeout $(CLUSTER_TIMEOUT)
unraced_packages := $(addprefix ./,$(UNRACED_PACKAGES))
begun_first := $(addprefix ./,$(CLUSTER_PACKAGES) $(LONG_PACKAGES))

# The packages that are in no list.
others = $(GO) list ./... | grep -vxF $(patsubst ./%,-e $(MODULE)/%,$(unraced_packages) $(begun_first) ./$(PLANNER))
# The packages that start goroutines or hold locks. In the others, there is nothing to race, and their tests take up to seven
# times as long with the race detector.
concurrent = $(patsubst ./%/,-e $(MODULE)/%,$(sort $(dir $(shell \
	grep -rlE --include='*.go' --exclude='*_test.go' '^\s*go [a-zA-Z]|\.Go\b|"sync"|"sync/atomic"' .))))

# What takes longest is begun first.
.PHONY: clusters-and-race
clusters-and-race:
	$(on_clusters) -short -p 1 -parallel 6 $(addprefix ./,$(LONE_PACKAGES))
	$(on_clusters) -short $(addprefix ./,$(filter-out $(LONE_PACKAGES),$(UNRACED_PACKAGES)))
	LINKWRIGHT_CLUSTERS= $(race) -short -p 3 -timeout $(TIMEOUT) $(addprefix ./,$(RACED_APART))
	$(on_clusters) -race -short -p 3 $(begun_first) $$($(others) | grep -xF $(concurrent))
	LINKWRIGHT_CLUSTERS= $(GO) test -vet=off -short -timeout $(TIMEOUT) $$($(others) | grep -vxF $(concurrent))
	$(GO) test -race -vet=off -short -timeout $(TIMEOUT) -run '^TestStepsSideBySide$$' ./$(PLANNER)

race-clusters: ## tests on real control planes, all with the race detector
	$(on_clusters) -race -short $(begun_first) $(unraced_packages)

fuzz: ## every fuzz target for FUZZTIME; `make test` plays what they know already
	GO='$(GO)' hack/fuzz.sh $(FUZZTIME)

# What `make test` runs a slice of, whole: hours.
soak: controlplane soak-histories ## fuzzing, tests on control planes, histories and sweeps at full size
	$(MAKE) fuzz FUZZTIME=10m
	$(on_clusters) -race -timeout 2h $(unraced_packages) $(begun_first)
	GOGC=400 LINKWRIGHT_CLUSTERS=1 $(GO) test -count=1 -v -timeout 12h -run '^TestSweep$$' ./cmd/linkwright -sweep 0 -sweep-labs 3

# Rare garbage collection makes it faster.
soak-histories: controlplane ## random histories at full size (docs/explanation/soak.md)
	GOGC=400 HISTORIES=$(HISTORIES) HISTORY_SEED=$(HISTORY_SEED) \
		$(GO) test -count=1 -v -timeout $(SOAK_TIMEOUT) -run '^TestHistories$$' ./hack/history
	GOGC=400 HISTORIES=$(RENAMES) HISTORY_SEED=$(HISTORY_SEED) \
		$(GO) test -count=1 -v -timeout $(SOAK_TIMEOUT) -run '^TestRenames$$|^TestRotations$$' ./hack/history
	LINKWRIGHT_CLUSTERS=1 HISTORIES_REAL=$(HISTORIES_REAL) HISTORY_SEED=$(HISTORY_SEED) \
		$(GO) test -count=1 -v -timeout $(SOAK_TIMEOUT) -run '^TestRealHistories$$' ./hack/history

# For what the planner's benchmarks assert: that a quiet plan of many links writes nothing. Their figures say nothing here. The other benchmarks
# assert nothing that a test does not.
bench-once: ## the benchmarks that assert something, once
	$(GO) test -vet=off -short -run '^$$' -bench . -benchtime 1x -timeout $(TIMEOUT) ./$(PLANNER)

# Never part of a timed test: figures of a busy machine say nothing.
bench: controlplane ## the figures of docs/explanation/performance.md
	$(GO) test -run '^$$' -bench . -timeout 60m ./render/fleet ./render/overlay
	$(GO) test -run '^$$' -bench Validate -timeout 10m ./cmd/linkwright
	$(GO) test -run '^$$' -bench 'Plan|Render|Drift' -benchtime 20x -timeout 10m ./sync/plan
	$(GO) test -run '^$$' -bench Source -benchtime 7x -timeout 10m ./sync/source
	$(GO) -C bench build -o ../bin/bench .
	bin/bench apply
	for run in 1 2 3; do bin/bench memory -rounds 1; done
	CGO_ENABLED=0 $(GO) build -trimpath -o bin/linkwright ./cmd/linkwright
	bin/bench bound -clusters 50
	bin/bench drift
	bin/bench watches -rounds 3 -seconds 15

bench-isolation: controlplane ## the figures for which twenty clusters are started: 10 GiB of memory
	$(GO) -C bench build -o ../bin/bench .
	bin/bench isolation
	bin/bench idle
	bin/bench facts

# Its data is fetched; without it the check is skipped, and says so.
vuln: $(VULN) ## known vulnerabilities of what the program calls
	hack/vuln.sh $(VULN)

$(VULN): hack/tools/go.mod hack/tools/go.sum
	$(GO) build -C hack/tools -o $(CURDIR)/$@ golang.org/x/vuln/cmd/govulncheck
	@touch $@

# A module of its own: its dependencies would change the linter's.
$(GORELEASER): hack/goreleaser/go.mod hack/goreleaser/go.sum
	$(GO) build -C hack/goreleaser -o $(CURDIR)/$@ github.com/goreleaser/goreleaser/v2
	@touch $@

# Two programs of one version. Service discovery of clouds is left out, with the libraries of those.
$(PROMTOOL): hack/prometheus/go.mod hack/prometheus/go.sum
	CGO_ENABLED=0 $(GO) build -C hack/prometheus -tags remove_all_sd -o $(CURDIR)/bin/tools/ \
		github.com/prometheus/prometheus/cmd/prometheus github.com/prometheus/prometheus/cmd/promtool
	@touch $@

tools: $(LINT) $(VULN) ## build the linter and govulncheck at the versions pinned in hack/tools/go.mod

$(LINT): hack/tools/go.mod hack/tools/go.sum
	$(GO) build -C hack/tools -o $(CURDIR)/$@ github.com/golangci/golangci-lint/v2/cmd/golangci-lint
	@touch $@

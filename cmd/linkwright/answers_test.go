package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/outputschema"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/report/output"
)

// answered is one command with its answer for programs.
type answered struct {
	line string // the command with its arguments
	code int
	kind string
}

// answersWithoutClusters are those of commands that read a repository, or nothing.
func answersWithoutClusters() []answered {
	return []answered{
		{"validate FLEET", cli.ExitDone, output.KindProblemList},
		{"validate nowhere.yaml", cli.ExitError, ""},
		{"render FLEET", cli.ExitDone, output.KindManifestList},
		{"rbac FLEET", cli.ExitDone, output.KindManifestList},
		{"rbac FLEET --reader --cluster west", cli.ExitDone, output.KindManifestList},
		{"explain", cli.ExitDone, output.KindExplanationList},
		{"explain mesh.spec.topology", cli.ExitDone, output.KindExplanation},
		{"explain cluster.spec.gateway.port", cli.ExitDone, output.KindExplanation},
		{"explain GatewayNotAlive", cli.ExitDone, output.KindExplanation},
		{"explain nothing", cli.ExitUsage, ""},
		{"diff --repo FLEET --allow-file-repo HEAD..HEAD", cli.ExitDone, output.KindDiff},
		{"version", cli.ExitDone, output.KindVersion},
		{"bootstrap nowhere", cli.ExitError, ""}, // TestBootstrap in hack/chart has the other answers
	}
}

// answersOfClusters are those of commands about west and east, whose one link is as declared, in this order.
func answersOfClusters() []answered {
	return []answered{
		{"get links", cli.ExitDone, output.KindLinkList},
		{"get links west/east", cli.ExitDone, output.KindLink},
		{"get clusters", cli.ExitDone, output.KindClusterList},
		{"get clusters east", cli.ExitDone, output.KindCluster},
		{"get gateways", cli.ExitDone, output.KindGatewayList},
		{"get gateways west/east", cli.ExitDone, output.KindGateway},
		{"get revisions", cli.ExitDone, output.KindRevisionList},
		{"events", cli.ExitDone, output.KindEventList},
		{"describe link west/east", cli.ExitDone, output.KindLink},
		{"describe cluster east", cli.ExitDone, output.KindCluster},
		{"status", cli.ExitPartial, output.KindStatus},
		{"check REPO", cli.ExitPartial, output.KindCheck},
		{"rotate REPO --dry-run=server", cli.ExitDone, output.KindRotationList},
		{"rotate REPO west/east", cli.ExitDone, output.KindRotationList},
		{"suspend west/east --reason x", cli.ExitDone, output.KindDecisionList},
		{"suspend nowhere --reason x", cli.ExitError, ""},
		{"suspend east/west --reason x", cli.ExitError, ""}, // it is not declared
		{"resume west/east", cli.ExitDone, output.KindDecisionList},
		{"reconcile east", cli.ExitDone, output.KindDecisionList},
		{"accept cluster new=8c3f1b52-6f0e-4f5e-9d8e-2f7f0c0a1b2c --dry-run=client", cli.ExitDone, output.KindDecisionList},
		{"allow non-fast-forward 0123456789012345678901234567890123456789 --dry-run=server", cli.ExitDone, output.KindDecisionList},
		{"abandon east", cli.ExitPartial, output.KindDecisionList},
		{"abandon east --dry-run=client", cli.ExitDone, output.KindDecisionList},
		{"approve 000000000000", cli.ExitError, ""}, // TestApprove has its answer
		{"import --context CONTEXT", cli.ExitDone, output.KindDeclarationList},
		{"rollout status --context CONTEXT", cli.ExitDone, output.KindWorkloadList},
		{"rollout pause --context CONTEXT", cli.ExitDone, output.KindRestartsList},
		{"rollout undo --context CONTEXT --yes", cli.ExitDone, output.KindRestartsList},
		{"rollout resume --context CONTEXT", cli.ExitDone, output.KindRestartsList},
		{"trust status --context CONTEXT", cli.ExitDone, output.KindTrustAnchorList}, // TestTrustStatus has the answers with --anchor
		{"cluster add REPO east --secret own --context CONTEXT --dry-run=client", cli.ExitDone, output.KindDeclarationList},
		{"adopt REPO --all", cli.ExitDone, output.KindDiff}, // TestAdopt has the other answers
		{"sync REPO --dry-run=client", cli.ExitDone, output.KindDiff},
		{"uninstall REPO", cli.ExitPartial, output.KindDiff},
		{"uninstall REPO --dry-run=client", cli.ExitDone, output.KindDiff},
		{"release REPO --all", cli.ExitPartial, output.KindDiff},
		{"release REPO --all --yes", cli.ExitDone, output.KindSyncReport},
		{"uninstall REPO --yes", cli.ExitDone, output.KindDiff},
	}
}

// noAnswers are commands that print something else: a daemon that only logs, pages, and schemas that are JSON themselves.
func noAnswers() []string { return []string{"man", "mirror", "run", "schema"} }

// TestEveryCommandAnswersPrograms: every command that prints an answer takes -o with all formats for programs, and has a row in a table of
// answers. Those without clusters are as the schemas of their kinds say.
func TestEveryCommandAnswersPrograms(t *testing.T) {
	tables := slices.Concat(answersWithoutClusters(), answersOfClusters())
	for _, c := range leaves(newRoot()) {
		name := strings.TrimPrefix(c.CommandPath(), "linkwright ")
		flag := c.Flags().Lookup("output")
		if slices.Contains(noAnswers(), name) {
			if flag != nil {
				t.Errorf("%s has -o: it has an answer, and belongs into a table", name)
			}
			continue
		}
		format, ok := (*cli.Format)(nil), false
		if flag != nil {
			format, ok = flag.Value.(*cli.Format)
		}
		if !ok {
			t.Errorf("%s has no -o for programs", name)
			continue
		}
		for _, want := range []report.Format{report.JSON, report.YAML, report.JSONPath, report.CustomColumns} {
			if !slices.Contains(format.Words(), string(want)) {
				t.Errorf("%s -o has no %s", name, want)
			}
		}
		if !slices.ContainsFunc(tables, func(a answered) bool { return a.line == name || strings.HasPrefix(a.line, name+" ") }) {
			t.Errorf("%s: give it a row in a table of answers", name)
		}
	}
	repo := filepath.Join(t.TempDir(), "fleet")
	if err := os.CopyFS(repo, os.DirFS("../../examples/pair")); err != nil {
		t.Fatal(err)
	}
	committed(t, repo)
	for _, a := range answersWithoutClusters() {
		var out, stderr bytes.Buffer
		args := append(strings.Fields(strings.ReplaceAll(a.line, "FLEET", repo)), "-o", "json")
		code := run(t.Context(), args, &out, &stderr)
		a.holds(t, result{code, out.String(), stderr.String()})
	}
}

// holds compares the exit code, and the answer with the schema of its kind. A command that failed before it knew anything answers nothing.
func (a answered) holds(t *testing.T, r result) {
	t.Helper()
	if r.code != a.code {
		t.Errorf("%s: exit code %d, want %d\n%s%s", a.line, r.code, a.code, r.out, r.stderr)
	}
	if a.kind == "" {
		if r.out != "" {
			t.Errorf("%s failed, and answers:\n%s", a.line, r.out)
		}
		return
	}
	var meta struct{ Kind string }
	if err := json.Unmarshal([]byte(r.out), &meta); err != nil || meta.Kind != a.kind {
		t.Errorf("%s: the answer is %q, want %s: %v\n%s%s", a.line, meta.Kind, a.kind, err, r.out, r.stderr)
		return
	}
	if err := outputschema.Check([]byte(r.out)); err != nil {
		t.Errorf("%s: %v\n%s", a.line, err, r.out)
	}
}

// answers runs a command with -o json.
func (l *lab) answers(a answered) {
	l.t.Helper()
	words := append(strings.Fields(a.line), "-o", "json")
	if i := slices.Index(words, "CONTEXT"); i >= 0 {
		file := l.managementConfig()
		if words[0] == "cluster" {
			file = l.Cluster("east").Kubeconfig
			words = append(words, "--kubeconfig", file)
		}
		config, err := clientcmd.LoadFromFile(file)
		if err != nil {
			l.t.Fatal(err)
		}
		words[i] = config.CurrentContext
	}
	if i := slices.Index(words, "REPO"); i >= 0 {
		a.holds(l.t, l.run(slices.Delete(words, i, i+1)...))
		return
	}
	code, out, stderr := l.apart(words...)
	a.holds(l.t, result{code, out, stderr})
}

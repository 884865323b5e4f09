// Package imports holds the direction of imports: a table, and a test that compares it with the tree by equality.
package imports

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/linkwright/linkwright"

// row is what one package imports of this module directly, tests left out, separated by spaces.
type row struct {
	imports string
	pure    bool   // no client-go but its applyconfigurations, no net/http, os, log
	though  string // one import that a pure package may have nevertheless
}

// table is the truth of this commit: a package in the tree must equal its row, also where it imports less than the
// architecture would allow, so that a new edge is always a line in a diff. A row whose package is not there yet is
// passed over; a package without a row fails.
func table() map[string]row {
	return map[string]row{
		"api":                    {pure: true},
		"object/reason":          {pure: true},
		"object":                 {pure: true, imports: "api object/reason", though: "log/slog"}, // a secret redacts itself: slog.LogValuer
		"render/fleet":           {pure: true, imports: "api object/reason"},
		"render/linkerd":         {pure: true, imports: "api object object/reason"},
		"render":                 {pure: true, imports: "api object object/reason render/fleet render/linkerd"},
		"render/marks":           {pure: true, imports: "object"},
		"render/values":          {pure: true, imports: ""},
		"render/overlay/sandbox": {},
		"render/overlay":         {imports: "api object object/reason render/fleet render/marks render/overlay/sandbox"},
		"render/confine":         {pure: true, imports: "object render/linkerd render/marks rollout"},
		"rollout":                {pure: true, imports: "api object object/reason"},
		"rollout/trust":          {pure: true, imports: "api object object/reason render/linkerd"},
		"rollout/survey":         {imports: "render/linkerd rollout rollout/trust"},
		"rollout/restart":        {imports: "api object object/reason prune/inventory rollout rollout/survey"},
		"prune/inventory":        {pure: true, imports: "api object object/reason"},
		"mirror":                 {pure: true, imports: "render/linkerd"},
		"mirror/probe":           {imports: "render/linkerd"},
		"mirror/controller":      {imports: "api mirror mirror/probe render/linkerd"},
		"prune":                  {pure: true, imports: "api object object/reason prune/inventory render/linkerd"},
		"sync/state":             {pure: true, imports: "api object object/reason prune/inventory render render/fleet render/linkerd"},
		"sync/credential":        {pure: true, imports: "api object object/reason prune/inventory render render/fleet render/linkerd sync/state"},
		"sync/health":            {pure: true, imports: "api object object/reason render/linkerd sync/credential"},
		"sync/takeover":          {pure: true, imports: "api object object/reason render render/fleet render/linkerd sync/state"},
		"sync/values":            {pure: true, imports: "api object object/reason prune/inventory render/fleet render/linkerd render/values"},
		"sync/plan":              {pure: true, imports: "api object object/reason prune prune/inventory render render/confine render/fleet render/linkerd rollout sync/credential sync/health sync/state sync/takeover sync/values"},
		"sync/rights":            {pure: true, imports: "api object prune/inventory render render/fleet render/linkerd sync/plan sync/state"},
		"sync/report/output":     {pure: true, imports: "object"},
		"docs/schema":            {pure: true, imports: "sync/report/output"},
		"sync/report":            {pure: true, imports: "api object object/reason rollout sync/plan sync/report/output sync/state"},
		"sync/progress":          {pure: true, imports: "api object/reason sync/report"},
		"sync/trust":             {pure: true},
		"sync/forge":             {imports: "api"},
		"sync/source":            {imports: "api sync/forge sync/trust"},
		"sync/cluster":           {imports: "api object object/reason"},
		"sync/lease":             {},
		"sync/store":             {imports: "api object object/reason prune/inventory render/fleet render/linkerd sync/credential sync/health sync/plan sync/report sync/state"},
		"sync/apply":             {imports: "object sync/plan"},
		"sync/verify":            {imports: "api object object/reason sync/plan sync/state sync/store"},
		"sync/record":            {imports: "api object object/reason prune/inventory render/fleet sync/plan sync/store"},
		"sync":                   {imports: "api object object/reason prune/inventory render/confine render/fleet render/linkerd sync/apply sync/plan sync/record sync/report sync/state sync/store sync/verify"},
		"sync/notify":            {imports: "object object/reason prune/inventory sync/report sync/report/output"},
		"sync/web":               {imports: "api object/reason rollout sync/report"},
		"sync/declared":          {imports: "api object object/reason render render/fleet render/linkerd render/overlay sync sync/plan sync/source"},
		"sync/access":            {imports: "api object render/fleet sync/cluster sync/verify sync/web"},
		"sync/setup":             {imports: "api object render render/confine render/fleet sync sync/access sync/cluster sync/declared sync/lease sync/plan sync/record sync/source"},
	}
}

// outside returns which directories may import anything: what wires the rooms together, and what stands beside them.
func outside(dir string) bool {
	top, _, _ := strings.Cut(dir, "/")
	return slices.Contains([]string{"cmd", "deploy", "examples", "hack"}, top)
}

// impure returns which import a pure package must not have.
func impure(path string) bool {
	const client = "k8s.io/client-go"
	if strings.HasPrefix(path, client+"/applyconfigurations/") {
		return false
	}
	return path == client || strings.HasPrefix(path, client+"/") ||
		slices.Contains([]string{"net/http", "os", "os/exec", "log", "log/slog"}, path)
}

type listed struct {
	ImportPath string
	Imports    []string
}

func TestImports(t *testing.T) {
	rows := table()
	for _, p := range listPackages(t) {
		dir := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		if outside(dir) {
			continue
		}
		want, ok := rows[dir]
		if !ok {
			t.Errorf("package %q is not in the table: say what it answers in the architecture, and what it may import here", dir)
			continue
		}
		if diff := cmp.Diff(strings.Fields(want.imports), within(p.Imports)); diff != "" {
			t.Errorf("imports(%s): -want +got\n%s", dir, diff)
		}
		for _, path := range p.Imports {
			if want.pure && impure(path) && path != want.though {
				t.Errorf("package %s is pure and imports %s: take the value as an argument instead", dir, path)
			}
		}
	}
}

// TestTable keeps the table itself honest: sorted rows that name rows, without a cycle because the order is total.
func TestTable(t *testing.T) {
	rows := table()
	for dir, r := range rows {
		names := strings.Fields(r.imports)
		if !slices.IsSorted(names) {
			t.Errorf("row %s: imports are not sorted: %s", dir, r.imports)
		}
		for _, n := range names {
			to, ok := rows[n]
			if !ok {
				t.Errorf("row %s imports %s, which has no row", dir, n)
			}
			if r.pure && !to.pure {
				t.Errorf("row %s is pure and imports %s, which is not", dir, n)
			}
		}
	}
}

func TestImpure(t *testing.T) {
	for path, want := range map[string]bool{
		"k8s.io/client-go/rest":                        true,
		"k8s.io/client-go/applyconfigurations/core/v1": false,
		"net/http":                       true,
		"net/url":                        false,
		"os":                             true,
		"log/slog":                       true,
		"k8s.io/apimachinery/pkg/labels": false,
		"github.com/linkwright/linkwright/render/overlay": false,
	} {
		if got := impure(path); got != want {
			t.Errorf("impure(%s): -want +got\n-%v\n+%v", path, want, got)
		}
	}
}

// within returns the imports that belong to the module, without its path, sorted.
func within(imports []string) []string {
	out := []string{}
	for _, p := range imports {
		if in, ok := strings.CutPrefix(p, module+"/"); ok {
			out = append(out, in)
		}
	}
	slices.Sort(out)
	return out
}

// listPackages asks the go command, so that build tags and test files are judged as a build would judge them; -e, because an
// import of what is not there is still an import, and a build tells that better.
func listPackages(t *testing.T) []listed {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "list", "-e", "-json=ImportPath,Imports", module+"/...")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("list packages: %v\n%s", err, stderr.String())
	}
	var all []listed
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatalf("decode package list: %v", err)
		}
		all = append(all, p)
	}
}

package examples_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/setup"
)

const namesPage = referencePages + "files-and-annotations.md"

// TestNames: the page of names has each label and annotation of linkwright's that the code spells, and each of Linkerd's that package
// linkerd names.
func TestNames(t *testing.T) {
	page := text(t, namesPage)
	ofFlags := []string{"linkwright.dev/given", "linkwright.dev/no-variable", "linkwright.dev/group", "linkwright.dev/words", "linkwright.dev/v1alpha1", object.Prefix}
	spelled := regexp.MustCompile(`"(linkwright\.dev/[^"]*)"|\bobject\.Prefix ?\+ ?"([a-z-]+)"`)
	found := 0
	for path, source := range sources(t, rooms()) {
		for _, m := range spelled.FindAllStringSubmatch(source, -1) {
			name := m[1]
			if name == "" {
				name = object.Prefix + m[2]
			}
			if found++; !slices.Contains(ofFlags, name) && !strings.Contains(page, "`"+name) {
				t.Errorf("%s: the page of names lacks %s", path, name)
			}
		}
	}
	if found < 10 {
		t.Errorf("%d names found in the code", found)
	}
	linkerds := regexp.MustCompile(`"((?:mirror\.|multicluster\.)?linkerd\.io/[a-z-]+)"`).FindAllStringSubmatch(text(t, "../render/linkerd/names.go"), -1)
	if len(linkerds) < 10 {
		t.Errorf("%d names of Linkerd found in the code", len(linkerds))
	}
	for _, m := range linkerds {
		if !strings.Contains(page, "`"+m[1]+"`") {
			t.Errorf("the page of names lacks %s", m[1])
		}
	}
}

// TestNamesOfObjects: the page has the names of objects as the code makes them.
func TestNamesOfObjects(t *testing.T) {
	page := text(t, namesPage)
	const owner, source, target = "<owner>", api.ClusterName("<source>"), api.ClusterName("<target>")
	link := object.End{Link: api.Pair{Source: source, Target: target}}
	for _, name := range []string{
		inventory.Key(owner, object.End{}).Name, inventory.Key(owner, link).Name, object.AccessNamespace,
		strings.Replace(inventory.RecordKey(owner, "").Name, object.Manager(owner), "<manager>", 1), object.Manager(owner), object.Manager(object.DefaultOwner),
		render.Account(owner, source).Name, render.TokenSecret(owner, source).Name,
		linkerd.Controller(target), linkerd.ProbeService(target), linkerd.LegacyController(target), linkerd.LegacyProbeService(target),
		linkerd.Credentials(target), linkerd.ReadCredentials(target), linkerd.LocalAccess(target), linkerd.Lease(target),
		linkerd.LocalAccessRole, linkerd.RemoteAccessRole, linkerd.KubeconfigSecretType, linkerd.KubeconfigKey, linkerd.DestinationName, linkerd.LegacyComponent,
		setup.LeaseOf(owner), setup.LeaseOnly(owner, "<cluster>"), object.HelmPolicy, linkerd.LoadedAnnotation("<owner>"),
	} {
		if !strings.Contains(page, "`"+name+"`") {
			t.Errorf("the page of names lacks %s", name)
		}
	}
	for _, label := range append(object.MarkLabels(), object.MarkAnnotations()...) {
		if !strings.Contains(page, "`"+label+"`") {
			t.Errorf("the page of names lacks the mark %s", label)
		}
	}
}

// TestFieldsOfFiles: the page has each field of inventories and of the record.
func TestFieldsOfFiles(t *testing.T) {
	_, files, _ := strings.Cut(text(t, namesPage), "## Inventories")
	fields := jsonFields(t, "../prune/inventory/*.go")
	if len(fields) < 30 {
		t.Errorf("%d fields found in the code", len(fields))
	}
	for _, f := range fields {
		if f != "data" && !strings.Contains(files, "`"+f+"`") {
			t.Errorf("the page of names lacks the field %s", f)
		}
	}
	for _, kind := range []inventory.DecisionKind{inventory.AcceptCluster, inventory.AllowNonFastForward, inventory.AbandonCluster, inventory.Reconcile, inventory.Suspend, inventory.Resume, inventory.Approve, inventory.WithdrawApproval} {
		if !strings.Contains(files, "`"+string(kind)+"`") {
			t.Errorf("the page of names lacks the decision %s", kind)
		}
	}
	for _, kind := range inventory.UnitKinds() {
		if !strings.Contains(files, "`"+string(kind)+"`") {
			t.Errorf("the page of names lacks the unit %s", kind)
		}
	}
}

// jsonFields are the names of fields that structs in Go files have in JSON.
func jsonFields(t *testing.T, pattern string) (out []string) {
	t.Helper()
	for i, source := range depend(t, pattern) {
		file, err := parser.ParseFile(token.NewFileSet(), fmt.Sprintf("%s %d", pattern, i), source, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			f, ok := n.(*ast.Field)
			if !ok || f.Tag == nil {
				return true
			}
			tag, err := strconv.Unquote(f.Tag.Value)
			if err != nil {
				t.Fatal(err)
			}
			if name, _, _ := strings.Cut(reflect.StructTag(tag).Get("json"), ","); name != "" && name != "-" {
				out = append(out, name)
			}
			return true
		})
	}
	slices.Sort(out)
	return slices.Compact(out)
}

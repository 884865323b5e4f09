package mirror

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/render/linkerd"
)

var update = flag.Bool("update", false, "write the plans into testdata/mirror")

// scenario is the state.yaml of a file in testdata/mirror. The Service is shop/web.
type scenario struct {
	Links []struct {
		Name     string
		Created  int // seconds
		Headless bool
		Unsynced bool
		Spec     linkerd.LinkSpec
		Gateway  struct {
			Addresses []string
			Error     string
			Dead      bool
		}
		Service   *corev1.Service
		Endpoints *endpoints
	}
	Source struct {
		NoNamespace, CreateNamespaces, LocalMirror bool
		Services                                   []*corev1.Service
		Endpoints                                  []*endpoints
		Local                                      *corev1.Service
	}
}

// TestReconcile: the plan of each state is the recorded one. Done, it leaves nothing to do, and it touched nothing that is not of a link's mirroring.
func TestReconcile(t *testing.T) {
	paths, err := filepath.Glob("../testdata/mirror/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatal(err, "no files")
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			s := load(t, archive)
			p := Reconcile(s)
			got := p.text(t)
			if *update {
				archive.Files = append(archive.Files[:1], txtar.File{Name: "plan", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o600); err != nil {
					t.Fatal(err)
				}
			} else if len(archive.Files) != 2 {
				t.Fatalf("it has %d files, want 2", len(archive.Files))
			} else if diff := cmp.Diff(string(archive.Files[1].Data), got); diff != "" {
				t.Errorf("Reconcile: -want +got\n%s", diff)
			}
			settles(t, s)
		})
	}
}

func load(t *testing.T, archive *txtar.Archive) State {
	t.Helper()
	if len(archive.Files) == 0 || archive.Files[0].Name != "state.yaml" {
		t.Fatal("the first file is not state.yaml")
	}
	var in scenario
	if err := yaml.UnmarshalStrict(archive.Files[0].Data, &in); err != nil {
		t.Fatal(err)
	}
	s := State{Name: types.NamespacedName{Namespace: "shop", Name: "web"}, Source: Source{
		Namespace: !in.Source.NoNamespace, CreateNamespaces: in.Source.CreateNamespaces, LocalMirror: in.Source.LocalMirror,
		Services: map[string]*corev1.Service{}, Endpoints: map[string]*endpoints{}, Local: in.Source.Local,
	}}
	for _, one := range in.Source.Services {
		one.Namespace, one.UID, one.ResourceVersion = "shop", types.UID("uid-"+one.Name), "7"
		s.Source.Services[one.Name] = one
	}
	for _, one := range in.Source.Endpoints {
		one.Namespace, one.UID, one.ResourceVersion = "shop", types.UID("uid-"+one.Name), "7"
		s.Source.Endpoints[one.Name] = one
	}
	for _, l := range in.Links {
		link := Link{Name: l.Name, Created: time.Unix(int64(l.Created), 0), Headless: l.Headless, Synced: !l.Unsynced, Spec: l.Spec, Service: l.Service, Endpoints: l.Endpoints}
		link.Spec.TargetClusterName, link.Spec.TargetClusterDomain = l.Name, "cluster.local"
		link.Gateway = Gateway{Addresses: l.Gateway.Addresses, Dead: l.Gateway.Dead}
		if l.Gateway.Error != "" {
			link.Gateway.Err = errors.New(l.Gateway.Error)
		}
		if one := link.Service; one != nil {
			one.Name, one.Namespace = "web", "shop"
		}
		s.Links = append(s.Links, link)
	}
	if s.Source.Local != nil {
		s.Source.Local.Name, s.Source.Local.Namespace = "web", "shop"
	}
	return s
}

// text is a plan as the files show it.
func (p Plan) text(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, w := range p.Writes {
		kind, meta := described(w)
		fmt.Fprintf(&out, "%s %s %s\n", w.Action, kind, meta.GetName())
		if w.Action == Delete {
			fmt.Fprintf(&out, "  uid %s, resourceVersion %s\n", meta.GetUID(), meta.GetResourceVersion())
			continue
		}
		raw, err := yaml.Marshal(w.Object)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			if !strings.HasPrefix(line, "status:") && !strings.HasPrefix(line, "  loadBalancer:") && !strings.HasPrefix(line, "  namespace: shop") {
				out.WriteString("  " + line)
			}
		}
	}
	for _, s := range p.Statuses {
		fmt.Fprintf(&out, "status %s federated=%t: %s %q local=%q skipped=%t\n", s.Link, s.Federated, s.Reason, s.Message, s.Local, s.Skipped)
	}
	return out.String()
}

func described(w Write) (string, metav1.Object) {
	switch o := w.Object.(type) {
	case *corev1.Service:
		return "Service", o
	case *endpoints:
		return "Endpoints", o
	case *corev1.Namespace:
		return "Namespace", o
	}
	panic("another kind")
}

// settles does plans until there is nothing to do, and fails if that does not come, or if a write is of something that no link's mirroring made.
func settles(t *testing.T, s State) {
	t.Helper()
	for range 4 {
		p := Reconcile(s)
		if len(p.Writes) == 0 {
			return
		}
		for _, w := range p.Writes {
			perform(t, &s, w)
		}
	}
	t.Errorf("after four plans, this is left to do:\n%s", Reconcile(s).text(t))
}

// perform does a write as an API server would.
func perform(t *testing.T, s *State, w Write) {
	t.Helper()
	kind, o := described(w)
	var live metav1.Object
	switch {
	case kind == "Namespace":
		s.Source.Namespace = true
		return
	case kind == "Service" && s.Source.Services[o.GetName()] != nil:
		live = s.Source.Services[o.GetName()]
	case kind == "Endpoints" && s.Source.Endpoints[o.GetName()] != nil:
		live = s.Source.Endpoints[o.GetName()]
	}
	switch {
	case w.Action == Create && live != nil:
		t.Fatalf("%s %s is created, and exists", kind, o.GetName())
	case w.Action != Create && (live == nil || live.GetUID() != o.GetUID() || live.GetResourceVersion() != o.GetResourceVersion()):
		t.Fatalf("%s of %s %s, which is not as it was read", w.Action, kind, o.GetName())
	case live != nil && live.GetLabels()[linkerd.MirroredLabel] == "":
		t.Fatalf("%s of %s %s, which is no mirror", w.Action, kind, o.GetName())
	}
	if service, ok := w.Object.(*corev1.Service); ok {
		performService(s, w.Action, service.DeepCopy())
		return
	}
	if w.Action == Delete {
		delete(s.Source.Endpoints, o.GetName())
		return
	}
	made := w.Object.(*endpoints).DeepCopy()
	made.UID, made.ResourceVersion = types.UID("uid-"+made.Name), made.ResourceVersion+"1"
	s.Source.Endpoints[made.Name] = made
}

func performService(s *State, action Action, service *corev1.Service) {
	if action == Delete {
		delete(s.Source.Services, service.Name)
		delete(s.Source.Endpoints, service.Name) // as the endpoints controller does
		return
	}
	service.UID, service.ResourceVersion = types.UID("uid-"+service.Name), service.ResourceVersion+"1"
	if service.Spec.ClusterIP == "" {
		service.Spec.ClusterIP = fmt.Sprintf("10.0.0.%d", len(service.Name))
	}
	s.Source.Services[service.Name] = service
}

package declared

import (
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
)

func TestWithin(t *testing.T) {
	tests := []struct {
		prefix, image string
		want          bool
	}{
		{"registry.example.com", "registry.example.com/a/b:1", true},
		{"registry.example.com", "registry.example.com.example.org/a:1", false},
		{"registry.example.com", "registry.example.com@example.org/a:1", false},
		{"registry.example.com", "registry.example.com:5000/a", false},
		{"registry.example.com:5000", "registry.example.com:5000/a", true},
		{"registry.example.com/a", "registry.example.com/a", true},
		{"registry.example.com/a", "registry.example.com/a:1", true},
		{"registry.example.com/a", "registry.example.com/a@sha256:0", true},
		{"registry.example.com/a", "registry.example.com/ab:1", false},
		{"registry.example.com/a/", "registry.example.com/a/b:1", true},
		{"registry.example.com/a:1", "registry.example.com/a:1", true},
		{"registry.example.com/a:1", "registry.example.com/a:12", false},
		{"controller", "controller:1", true},
		{"controller", "evil/controller:1", false},
	}
	for _, tt := range tests {
		if got := within(tt.prefix, tt.image); got != tt.want {
			t.Errorf("within(%q, %q): got %v, want %v", tt.prefix, tt.image, got, tt.want)
		}
	}
}

// plain renders ends that want nothing.
type plain struct{}

func (plain) Source(in render.Input) object.Desired {
	return object.Desired{End: object.End{Cluster: in.Link.Source.Name, Link: in.Link.Pair()}}
}

func (plain) Target(render.Input) object.Desired                               { return object.Desired{} }
func (plain) Complete(_ fleet.Cluster, ends []object.Desired) []object.Desired { return ends }

func TestImagesAreHeldUnlessAllowed(t *testing.T) {
	mine := []string{"registry.example.com/linkerd"}
	tests := []struct {
		controller api.Controller
		allowed    []string
		held       bool
	}{
		{api.Controller{Mode: api.PerLink}, nil, false},
		{api.Controller{Mode: api.PerLink, Image: "registry.example.com/linkerd/controller:1"}, nil, true},
		{api.Controller{Mode: api.PerLink, Image: "registry.example.com/linkerd/controller:1"}, mine, false},
		{api.Controller{Mode: api.PerLink, Image: "registry.example.com/other:1"}, mine, true},
		{api.Controller{Mode: api.Shared, Image: "registry.example.com/linkwright:1"}, nil, true},
		{api.Controller{Mode: api.Shared, Image: "registry.example.com/linkwright:1"}, []string{"registry.example.com/linkwright"}, false},
		{api.Controller{Mode: api.External, Image: "registry.example.com/other:1"}, nil, false},
	}
	for _, tt := range tests {
		in := render.Input{Link: fleet.Link{
			Source: &fleet.Cluster{Name: "west"}, Target: &fleet.Cluster{Name: "east"}, Spec: &api.LinkSpec{Controller: tt.controller},
		}}
		got := Images{plain{}, tt.allowed}.Source(in)
		if held := got.Blocked != nil && got.Blocked.Code == "ImageNotAllowed"; held != tt.held || got.End != (plain{}).Source(in).End {
			t.Errorf("Source(%+v), allowed %v: got %+v, want held %v", tt.controller, tt.allowed, got, tt.held)
		}
	}
}

// TestImagesOfProxies: a base keeps what it has if a proxy would run an image that is neither Linkerd's own nor allowed.
func TestImagesOfProxies(t *testing.T) {
	for _, tt := range []struct {
		path, value string
		allowed     []string
		denied      bool
	}{
		{"proxy.image.name", `"cr.l5d.io/linkerd/proxy"`, nil, false},
		{"proxy.image.version", `"x"`, nil, false},
		{"proxy.image.name", `"cr.l5d.io/linkerdx/proxy"`, nil, true},
		{"proxyInit.image.name", `"registry.example.com/proxy-init"`, nil, true},
		{"debugContainer.image.name", `"registry.example.com/debug"`, []string{"registry.example.com"}, false},
	} {
		c := fleet.Cluster{Name: "west", Values: []fleet.Value{{Path: tt.path, JSON: tt.value, From: "ProxyConfig a"}}}
		got := Images{plain{}, tt.allowed}.Complete(c, []object.Desired{{End: object.End{Cluster: "west"}}})
		if denied := got[0].Blocked != nil && got[0].Blocked.Code == "ImageNotAllowed"; denied != tt.denied {
			t.Errorf("%s %s, allowed %v: got %+v, want denied %v", tt.path, tt.value, tt.allowed, got, tt.denied)
		}
	}
}

// TestImageOfSharedController: the base of a cluster has the image of the controller that its links share. Other ends are as they were.
func TestImageOfSharedController(t *testing.T) {
	base, link := object.End{Cluster: "west"}, object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "east"}}
	for _, tt := range []struct {
		shared  *api.Controller
		allowed []string
		held    bool
	}{
		{nil, nil, false},
		{&api.Controller{Mode: api.Shared, Image: "registry.example.com/linkwright:1"}, nil, true},
		{&api.Controller{Mode: api.Shared, Image: "registry.example.com/linkwright:1"}, []string{"registry.example.com"}, false},
	} {
		got := Images{plain{}, tt.allowed}.Complete(fleet.Cluster{Name: "west", Shared: tt.shared}, []object.Desired{{End: base}, {End: link}})
		if held := got[0].Blocked != nil && got[0].Blocked.Code == "ImageNotAllowed"; held != tt.held || got[1].Blocked != nil {
			t.Errorf("Complete(%+v), allowed %v: got %+v, want held %v", tt.shared, tt.allowed, got, tt.held)
		}
	}
}

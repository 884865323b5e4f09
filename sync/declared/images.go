package declared

import (
	"encoding/json"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/render"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/sync/plan"
)

// Images holds the source end of a link whose controller would run an image that nobody allowed here: who may commit
// shapes the mesh, and does not run programs with the controller's account. An end that exists keeps what it has. So does a
// base with images of proxies.
type Images struct {
	plan.Renderer
	Allowed []string
}

// Source implements plan.Renderer.
func (r Images) Source(in render.Input) object.Desired {
	return r.blocked(r.Renderer.Source(in), in.Link.Spec.Controller)
}

// Complete implements plan.Renderer: the base has the controller that links share, and the images of proxies.
func (r Images) Complete(c fleet.Cluster, ends []object.Desired) []object.Desired {
	out := r.Renderer.Complete(c, ends)
	for i, want := range out {
		if !want.End.IsBase() {
			continue
		}
		if c.Shared != nil {
			out[i] = r.blocked(want, *c.Shared)
		}
		if why := r.proxyDenied(c); why != nil && out[i].Blocked == nil {
			out[i] = object.Desired{End: want.End, Blocked: why}
		}
	}
	return out
}

// proxyDenied returns why the declared image of a proxy, or of an init container, is not allowed; nil: it is Linkerd's own, or allowed.
func (r Images) proxyDenied(c fleet.Cluster) *object.Reason {
	for _, v := range c.Values {
		var image string
		if !strings.HasSuffix(v.Path, ".image.name") || json.Unmarshal([]byte(v.JSON), &image) != nil || within(linkerd.Registry, image) || r.allows(image) {
			continue
		}
		return object.Because(reason.ImageNotAllowed, "%s: %s %s is not allowed: remove it, or start linkwright with --allow-controller-image and its repository", v.From, v.Path, image)
	}
	return nil
}

func (r Images) blocked(want object.Desired, c api.Controller) object.Desired {
	if c.Image == "" || c.Mode == api.External || r.allows(c.Image) {
		return want
	}
	return object.Desired{End: want.End, Blocked: object.Because(reason.ImageNotAllowed,
		"controller.image %s is not allowed: remove it, or start linkwright with --allow-controller-image and its repository", c.Image)}
}

func (r Images) allows(image string) bool {
	for _, prefix := range r.Allowed {
		if within(prefix, image) {
			return true
		}
	}
	return false
}

// within reports whether an image begins with a prefix that ends where a part of the image's name does.
//
//	prefix                    image                                 within
//	registry.example.com      registry.example.com/a/b:1            yes
//	                          registry.example.com.example.org/a    no
//	                          registry.example.com:5000/a           no: another registry
//	registry.example.com/a    registry.example.com/a:1, a@sha256:…  yes
//	                          registry.example.com/ab               no
//	registry.example.com/a/   registry.example.com/a/b              yes
func within(prefix, image string) bool {
	rest, ok := strings.CutPrefix(image, prefix)
	switch {
	case !ok:
		return false
	case rest == "" || strings.HasSuffix(prefix, "/") || rest[0] == '/':
		return true
	}
	return strings.ContainsRune(":@", rune(rest[0])) && !strings.Contains(rest, "/")
}

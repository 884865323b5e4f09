package render

import (
	"bytes"
	"reflect"
	"sync/atomic"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/render/linkerd"
)

// stencilCache has the most recent shapes. Links of one source mostly differ only in their target's name, which is then filled in
// instead of encoding the objects again. The result is the same.
type stencilCache struct{ shapes atomic.Pointer[[]cachedShape] }

// maxShapes bounds the cache: a mesh has one shape.
const maxShapes = 8

// shape is all that a link's controller and its rights depend on, except the target's name.
type shape struct {
	owner       string
	linkerd     api.Linkerd // of the source
	controller  api.Controller
	credentials api.Credentials
	version     string // of Linkerd in the source
	disabled    bool   // the target's gateway
	probe       string // its port
}

// cachedShape are the stencils of a shape; none: its objects must be encoded each time.
type cachedShape struct {
	shape    shape
	stencils []object.Stencil
}

// targetWord is the placeholder of the target's name: no valid name of a cluster looks like it.
const targetWord = "~target~"

func shapeOf(owner string, in Input) shape {
	return shape{
		owner: owner, linkerd: in.Link.Source.Spec.Linkerd, controller: in.Link.Spec.Controller, credentials: in.Link.Spec.Credentials,
		version: in.Source.Version, disabled: in.Target.Gateway.Disabled, probe: in.Target.Gateway.Probe.Port,
	}
}

// objects renders the controller of a link to target.
func (s *shape) objects(target api.ClusterName) ([]object.Object, error) {
	b := builder{owner: s.owner, Input: Input{
		Link: fleet.Link{
			Source: &fleet.Cluster{Spec: api.Cluster{Linkerd: s.linkerd}}, Target: &fleet.Cluster{Name: target},
			Spec: &api.LinkSpec{Controller: s.controller, Credentials: s.credentials},
		},
		Source: &linkerd.Facts{Version: s.version},
		Target: &linkerd.Facts{Gateway: linkerd.Gateway{Disabled: s.disabled, Probe: linkerd.Probe{Port: s.probe}}},
	}}
	families := []family{rights, probe, controller, disruption}
	if s.controller.Mode == api.Shared {
		families = families[:2]
	}
	for _, f := range families {
		f(&b)
	}
	return b.objects, b.err
}

// controllerObjects renders a link's controller, its rights and its probe.
func (r Renderer) controllerObjects(b *builder) {
	s, target := shapeOf(b.owner, b.Input), b.target()
	known, ok := r.cache.get(&s)
	for _, cut := range known.stencils {
		b.objects = append(b.objects, cut.Fill(string(target)))
	}
	if len(known.stencils) > 0 || b.err != nil {
		return
	}
	made, err := s.objects(target)
	if b.err = err; err == nil && !ok {
		r.cache.put(cachedShape{s, s.stencilsFor(target, made)})
	}
	b.objects = append(b.objects, made...)
}

// stencilsFor makes stencils, and compares their result with objects that were made without; it returns none if they differ, because
// the placeholder is in the shape itself.
func (s *shape) stencilsFor(target api.ClusterName, made []object.Object) []object.Stencil {
	samples, err := s.objects(targetWord)
	if err != nil || len(samples) != len(made) {
		return nil
	}
	var out []object.Stencil
	for i, sample := range samples {
		cut, ok := object.NewStencil(sample, targetWord)
		if !ok || !equal(cut.Fill(string(target)), made[i]) {
			return nil
		}
		out = append(out, cut)
	}
	return out
}

func equal(a, b object.Object) bool {
	return a.Key == b.Key && a.Digest == b.Digest && bytes.Equal(a.Body.Bytes(), b.Body.Bytes())
}

// get returns the cached shape; false: there is none.
func (s *stencilCache) get(of *shape) (cachedShape, bool) {
	if s == nil {
		return cachedShape{}, true
	}
	if all := s.shapes.Load(); all != nil {
		for _, known := range *all {
			if reflect.DeepEqual(&known.shape, of) {
				return known, true
			}
		}
	}
	return cachedShape{}, false
}

// put adds a shape and drops the oldest if there are too many. A shape that another goroutine adds at the same moment may be
// lost; it is made again.
func (s *stencilCache) put(added cachedShape) {
	all := []cachedShape{added}
	if previous := s.shapes.Load(); previous != nil {
		all = append(all, *previous...)
	}
	all = all[:min(len(all), maxShapes)]
	s.shapes.Store(&all)
}

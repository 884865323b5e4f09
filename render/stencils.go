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

// stencils are of the shapes seen last: links of one source mostly differ by their target's name, and are then filled in,
// not encoded. What is kept never changes what is rendered.
type stencils struct{ shapes atomic.Pointer[[]shaped] }

// mostShapes bounds what is kept: meshes have one each.
const mostShapes = 8

// shape is all that a link's controller and its rights depend on, but the target's name: they are rendered from nothing
// else.
type shape struct {
	owner       string
	linkerd     api.Linkerd // of the source
	controller  api.Controller
	credentials api.Credentials
	version     string // of Linkerd in the source
	disabled    bool   // the target's gateway
	probe       string // its port
}

// shaped is what was cut of a shape; none: its objects must be encoded each time.
type shaped struct {
	shape shape
	cuts  []object.Stencil
}

// targetWord stands for the target's name: no name of a cluster reads so.
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
	for _, f := range []family{rights, probe, controller, disruption} {
		f(&b)
	}
	return b.objects, b.err
}

// controlled renders a link's controller, its rights and its probe.
func (r Renderer) controlled(b *builder) {
	s, target := shapeOf(b.owner, b.Input), b.target()
	known, ok := r.known.find(&s)
	for _, cut := range known.cuts {
		b.objects = append(b.objects, cut.Fill(string(target)))
	}
	if len(known.cuts) > 0 || b.err != nil {
		return
	}
	made, err := s.objects(target)
	if b.err = err; err == nil && !ok {
		r.known.keep(shaped{s, s.cut(target, made)})
	}
	b.objects = append(b.objects, made...)
}

// cut makes stencils, and tries them on objects that were made without; none if they differ, because the word stands in
// the shape itself.
func (s *shape) cut(target api.ClusterName, made []object.Object) []object.Stencil {
	samples, err := s.objects(targetWord)
	if err != nil || len(samples) != len(made) {
		return nil
	}
	var out []object.Stencil
	for i, sample := range samples {
		cut, ok := object.NewStencil(sample, targetWord)
		if !ok || !same(cut.Fill(string(target)), made[i]) {
			return nil
		}
		out = append(out, cut)
	}
	return out
}

func same(a, b object.Object) bool {
	return a.Key == b.Key && a.Digest == b.Digest && bytes.Equal(a.Body.Bytes(), b.Body.Bytes())
}

// find returns what is known of a shape; false: nothing yet, and it may be kept.
func (s *stencils) find(of *shape) (shaped, bool) {
	if s == nil {
		return shaped{}, true
	}
	if all := s.shapes.Load(); all != nil {
		for _, known := range *all {
			if reflect.DeepEqual(&known.shape, of) {
				return known, true
			}
		}
	}
	return shaped{}, false
}

// keep adds a shape, in the place of the oldest where there are too many. What another keeps at the same moment may be
// lost, and is cut anew.
func (s *stencils) keep(added shaped) {
	all := []shaped{added}
	if old := s.shapes.Load(); old != nil {
		all = append(all, *old...)
	}
	all = all[:min(len(all), mostShapes)]
	s.shapes.Store(&all)
}

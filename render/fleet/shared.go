package fleet

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/linkwright/linkwright/api"
)

// sharedControllers sets the settings of the controller that the links of each source share, and fails links whose settings differ.
func (j *joiner) sharedControllers(f *Fleet) {
	for i := range f.names {
		source := &f.names[i]
		var first *Link
		var checked *api.LinkSpec // of the link before: the links of a mesh have one
		for _, l := range f.of(f.out, source.Name) {
			if l.Spec.Controller.Mode != api.Shared || l.Spec == checked {
				continue
			}
			settings := l.Spec.Controller
			settings.Headless = false // each link has its own
			switch checked = l.Spec; {
			case first == nil:
				first, source.Shared = &l, &settings
			case !equality.Semantic.DeepEqual(*source.Shared, settings):
				j.failTwice(*l.At, *first.At, fmt.Sprintf("links %s and %s share the controller of cluster %s with different settings", first.Pair(), l.Pair(), source.Name),
					"declare the same controller for both; only headless may differ")
			}
		}
	}
}

package survey

import (
	"context"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/linkwright/linkwright/rollout"
)

// HasArgoRollouts reports whether the cluster has Argo Rollouts. By default, everybody may ask for the kinds of an API, so a list that is forbidden is not
// mistaken for a kind that is absent.
func (c Client) HasArgoRollouts(ctx context.Context) (bool, error) {
	kinds := &metav1.APIResourceList{}
	err := c.Core.RESTClient().Get().AbsPath("/apis", rollout.ArgoRollouts().Group, rollout.ArgoRollouts().Version).Do(ctx).Into(kinds)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	return slices.ContainsFunc(kinds.APIResources, func(r metav1.APIResource) bool { return r.Name == rollout.ArgoRollouts().Resource }), err
}

// argoRollouts lists Argo Rollouts; false: nobody asks for them, the cluster does not have the kind, or they cannot be read.
func (r *reader) argoRollouts(ctx context.Context) (out []*workload, read bool, err error) {
	if !r.ArgoRollouts || r.Only.Kind != "" && r.Only.Kind != rollout.ArgoRollout {
		return nil, false, nil
	}
	if has, err := r.client.HasArgoRollouts(ctx); !has {
		return nil, false, err
	}
	list := r.client.Dynamic.Resource(rollout.ArgoRollouts()).Namespace(r.Namespace).List
	err = pagesOf(ctx, r, rollout.ArgoRollout, list, func(l *unstructured.UnstructuredList) {
		for i := range l.Items {
			if a, ok := rollout.OfArgoRollout(&l.Items[i]); ok {
				out = append(out, &workload{kind: rollout.ArgoRollout, namespace: a.Namespace, name: a.Name, live: a.Workload, template: a.Pods, hashes: a.Hashes})
			}
		}
	})
	return out, err == nil, err
}

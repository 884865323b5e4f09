package main

import (
	"context"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/hack/testbed"
)

// disasters are those of sync's TestDisasters that only real servers can play: admission, a CRD that is deleted, and another
// installation in the same clusters.
func (s *sweep) disasters(clusters string) {
	plain := clusters + link("west", "east", "")
	s.commit(plain)
	s.clean("a link")
	t := s.t
	defer func() { s.t = t }()
	t.Run("a delete rejected by admission", func(t *testing.T) { s.t = t; s.rejected(plain, clusters) })
	t.Run("another installation", func(t *testing.T) { s.t = t; s.another(plain, clusters) })
	t.Run("a CRD removed before its objects", func(t *testing.T) { s.t = t; s.crdRemoved(plain, clusters) })
}

func (s *sweep) links() dynamic.ResourceInterface {
	return dynamic.NewForConfigOrDie(s.Cluster("west").Config).
		Resource(schema.GroupVersionResource{Group: "multicluster.linkerd.io", Version: "v1alpha3", Resource: "links"}).Namespace("linkerd-multicluster")
}

// stands fails where a Secret of the link, or its access, is gone.
func (s *sweep) stands(what string) {
	s.t.Helper()
	_, err := s.client("west").CoreV1().Secrets("linkerd-multicluster").Get(s.t.Context(), "cluster-credentials-east", metav1.GetOptions{})
	if err == nil {
		_, err = s.client("east").CoreV1().ServiceAccounts("linkwright-access").Get(s.t.Context(), "linkwright.west", metav1.GetOptions{})
	}
	if err != nil {
		s.t.Errorf("%s: %v", what, err)
	}
}

// rejected: what stands behind what admission keeps stands, too; all goes once it may.
func (s *sweep) rejected(plain, clusters string) {
	policies := s.client("west").AdmissionregistrationV1()
	s.keepLinks()
	forever := func() bool {
		err := s.links().Delete(s.t.Context(), "east", metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "links are forever")
	}
	s.eventually("admission keeps the Link", forever)
	s.commit(clusters)
	s.must(cli.ExitPartial, []string{"links are forever", "Leaving"}, "sync", "--wait", "2m") // for pods; three refusals end it
	if _, err := s.links().Get(s.t.Context(), "east", metav1.GetOptions{}); err != nil {
		s.t.Error(err)
	}
	s.stands("behind a Link that is kept")
	err := policies.ValidatingAdmissionPolicyBindings().Delete(s.t.Context(), "forever", metav1.DeleteOptions{})
	if err == nil {
		err = policies.ValidatingAdmissionPolicies().Delete(s.t.Context(), "forever", metav1.DeleteOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
	s.eventually("admission keeps the Link no more", func() bool { return !forever() })
	s.clean("an unlink that may go on")
	s.commit(plain)
	s.clean("a link")
}

// keepLinks lets nobody delete a Linkerd Link in west.
func (s *sweep) keepLinks() {
	s.t.Helper()
	policies := s.client("west").AdmissionregistrationV1()
	_, err := policies.ValidatingAdmissionPolicies().Create(s.t.Context(), &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: "forever"},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
				Operations: []admissionv1.OperationType{admissionv1.Delete},
				Rule:       admissionv1.Rule{APIGroups: []string{"multicluster.linkerd.io"}, APIVersions: []string{"*"}, Resources: []string{"links"}},
			}}}},
			Validations: []admissionv1.Validation{{Expression: "false", Message: "links are forever"}},
		},
	}, metav1.CreateOptions{})
	if err == nil {
		_, err = policies.ValidatingAdmissionPolicyBindings().Create(s.t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: "forever"},
			Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: "forever", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		}, metav1.CreateOptions{})
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// another installation with the same declarations makes nothing but what has its own name, and takes nothing else away: what
// is the other's is occupied, and nothing is fought over.
func (s *sweep) another(plain, clusters string) {
	s.must(cli.ExitDone, []string{"1 link: "}, "sync") // until it is ready
	before := s.snapshot()
	others := func() map[string]string {
		now := s.snapshot()
		maps.DeleteFunc(now, func(k, _ string) bool { return strings.Contains(k, "blue") })
		return now
	}
	s.must(cli.ExitPartial, []string{"ObjectExists", "another installation's"}, "sync", "--owner", "blue", "--wait", "10s")
	if diff := cmp.Diff(before, others()); diff != "" {
		s.t.Errorf("blue changed what is not its own: -before +after\n%s", diff)
	}
	s.must(cli.ExitDone, []string{"1 link: ", "nothing to write"}, "sync")
	s.commit(clusters)
	s.must(cli.ExitDone, nil, "sync", "--owner", "blue")
	if diff := cmp.Diff(before, others()); diff != "" {
		s.t.Errorf("blue unlinked what is not its own: -before +after\n%s", diff)
	}
	s.clean("an unlink beside blue")
	s.must(cli.ExitDone, []string{"nothing to write"}, "sync", "--owner", "blue")
	s.must(cli.ExitDone, nil, "uninstall", "--owner", "blue", "--yes")
	s.commit(plain)
	s.clean("a link")
}

// crdRemoved: a declared link is reported, and loses nothing else; an unlink finishes without the Link.
func (s *sweep) crdRemoved(plain, clusters string) {
	crds := dynamic.NewForConfigOrDie(s.Cluster("west").Config).
		Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"})
	if err := crds.Delete(s.t.Context(), "links.multicluster.linkerd.io", metav1.DeleteOptions{}); err != nil {
		s.t.Fatal(err)
	}
	s.eventually("no Link is served", func() bool {
		_, err := s.links().List(s.t.Context(), metav1.ListOptions{})
		return apierrors.IsNotFound(err)
	})
	s.must(cli.ExitPartial, []string{"LinkerdNotInstalled", "nothing can be written now"}, "sync", "--wait", "2s")
	s.stands("without the CRD")
	s.commit(clusters)
	s.clean("an unlink without the CRD")
	if err := testbed.InstallLinkerd(context.WithoutCancel(s.t.Context()), s.Cluster("west").Config, testbed.Linkerd{}); err != nil {
		s.t.Fatal(err)
	}
	s.commit(plain)
	s.clean("a link, with the CRD back")
	s.commit(clusters)
	s.clean("an unlink")
}

package deploy_test

import (
	"context"
	"errors"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"k8s.io/client-go/dynamic"
)

// unconfined takes a binding of the policies away, and then alters a policy: each is reported at once, and --require-confinement has nothing written
// there until all is as it was.
func (b *testEnv) unconfined() {
	b.Helper()
	b.run(0, "sync", "--require-confinement")
	b.policies(b.noBinding)
	code, out := b.ask("sync", "--require-confinement", "--wait", "1s")
	if code != 4 || !strings.Contains(out, "NotConfined") || !strings.Contains(out, "linkwright cluster add east") {
		b.Errorf("sync --require-confinement: exit code %d, want 4\n%s", code, out)
	}
	b.run(0, "sync")
	if code, out := b.ask("check"); code != 0 || !strings.Contains(out, "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io linkwright.secrets") {
		b.Errorf("check: exit code %d\n%s", code, out)
	}
	b.daemonLogging(func(log *logged) {
		logs := func(words string) {
			b.Helper()
			b.eventually("the daemon logs "+words, func(context.Context) error {
				if !strings.Contains(log.String(), words) {
					return errors.New("it does not")
				}
				return nil
			})
		}
		logs("to=NotConfined")
		b.policies(b.installed)
		logs("from=NotConfined")
		b.policies(b.altered)
		logs("are of another version or other flags of linkwright")
		b.policies(b.installed)
	})
	b.run(0, "sync", "--require-confinement")
}

func (b *testEnv) policies(do func(dynamic.Interface)) {
	b.Helper()
	client, err := dynamic.NewForConfig(b.Cluster("east").As("deploy-test"))
	b.must(err)
	do(client)
}

func (b *testEnv) noBinding(c dynamic.Interface) {
	b.must(c.Resource(resource("admissionregistration.k8s.io", "validatingadmissionpolicybindings")).Delete(b.Context(), "linkwright.secrets", metav1.DeleteOptions{}))
}

func (b *testEnv) altered(c dynamic.Interface) {
	_, err := c.Resource(resource("admissionregistration.k8s.io", "validatingadmissionpolicies")).Patch(b.Context(), "linkwright.secrets",
		types.MergePatchType, []byte(`{"spec": {"failurePolicy": "Ignore"}}`), metav1.PatchOptions{})
	b.must(err)
}

func (b *testEnv) installed(dynamic.Interface) {
	b.apply("east", build(b.T, "confine", map[string]bool{}))
}

package cluster

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	quantity "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"
	rbacac "k8s.io/client-go/applyconfigurations/rbac/v1"

	"github.com/linkwright/linkwright/object"
)

// seal makes an object of the default installation.
func seal(t *testing.T, s object.Spec) object.Object {
	t.Helper()
	s.Owner = object.DefaultOwner
	o, err := object.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return o
}

func configMap(t *testing.T, ns, name string, data map[string]string) object.Object {
	t.Helper()
	c := coreac.ConfigMap(name, ns).WithData(data)
	return seal(t, object.Spec{
		Key:     object.Key{Kind: "ConfigMap", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func secret(t *testing.T, ns, name string, kind corev1.SecretType) object.Object {
	t.Helper()
	c := coreac.Secret(name, ns).WithType(kind).WithData(map[string][]byte{"kubeconfig": []byte("hush")})
	return seal(t, object.Spec{
		Key:     object.Key{Kind: "Secret", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func account(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := coreac.ServiceAccount(name, ns)
	return seal(t, object.Spec{
		Key:     object.Key{Kind: "ServiceAccount", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func service(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := coreac.Service(name, ns).WithSpec(coreac.ServiceSpec().
		WithSelector(map[string]string{"app": name}).
		WithPorts(
			coreac.ServicePort().WithName("probe").WithPort(4191).WithTargetPort(intstr.FromString("admin")),
			coreac.ServicePort().WithName("metrics").WithPort(9999).WithProtocol(corev1.ProtocolTCP)))
	return seal(t, object.Spec{
		Key:     object.Key{Kind: "Service", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func role(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := rbacac.Role(name, ns).WithRules(
		rbacac.PolicyRule().WithAPIGroups("").WithResources("secrets").WithResourceNames("cluster-credentials-west").WithVerbs("get"),
		rbacac.PolicyRule().WithAPIGroups("coordination.k8s.io").WithResources("leases").WithVerbs("create", "get", "update", "patch"))
	return seal(t, object.Spec{
		Key:     object.Key{Group: "rbac.authorization.k8s.io", Kind: "Role", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

// binding refers to a role; another role is a change that the server refuses.
func binding(t *testing.T, ns, name, to string) object.Object {
	t.Helper()
	c := rbacac.RoleBinding(name, ns).
		WithSubjects(rbacac.Subject().WithKind("ServiceAccount").WithName(name).WithNamespace(ns)).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup("rbac.authorization.k8s.io").WithKind("Role").WithName(to))
	return seal(t, object.Spec{
		Key:     object.Key{Group: "rbac.authorization.k8s.io", Kind: "RoleBinding", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func clusterBinding(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := rbacac.ClusterRoleBinding(name).
		WithSubjects(rbacac.Subject().WithKind("ServiceAccount").WithName(name).WithNamespace(ns)).
		WithRoleRef(rbacac.RoleRef().WithAPIGroup("rbac.authorization.k8s.io").WithKind("ClusterRole").WithName("view"))
	return seal(t, object.Spec{
		Key:     object.Key{Group: "rbac.authorization.k8s.io", Kind: "ClusterRoleBinding", Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

func budget(t *testing.T, ns, name string) object.Object {
	t.Helper()
	c := policyac.PodDisruptionBudget(name, ns).WithSpec(policyac.PodDisruptionBudgetSpec().
		WithMaxUnavailable(intstr.FromInt32(1)).
		WithSelector(metaac.LabelSelector().WithMatchLabels(map[string]string{"app": name})))
	return seal(t, object.Spec{
		Key:     object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

// deployment has what a service mirror controller's has: quantities that the server spells its own
// way, ports whose protocol it fills in, arguments (an atomic list), tolerations and affinity.
func deployment(t *testing.T, ns, name string) object.Object {
	t.Helper()
	labels := map[string]string{"app": name}
	container := coreac.Container().WithName("service-mirror").WithImage("example.com/controller:1").
		WithArgs("service-mirror", "-log-level=info").
		WithPorts(coreac.ContainerPort().WithName("admin").WithContainerPort(9999)).
		WithEnv(coreac.EnvVar().WithName("MODE").WithValue("link")).
		WithResources(coreac.ResourceRequirements().WithRequests(corev1.ResourceList{
			corev1.ResourceCPU: quantity.MustParse("0.5"), corev1.ResourceMemory: quantity.MustParse("1024Mi"),
		})).
		WithReadinessProbe(coreac.Probe().WithHTTPGet(coreac.HTTPGetAction().WithPath("/ready").WithPort(intstr.FromString("admin")))).
		WithSecurityContext(coreac.SecurityContext().WithRunAsNonRoot(true).
			WithCapabilities(coreac.Capabilities().WithDrop("ALL")))
	pod := coreac.PodSpec().WithServiceAccountName(name).WithContainers(container).
		WithTolerations(coreac.Toleration().WithKey("dedicated").WithOperator(corev1.TolerationOpExists)).
		WithVolumes(coreac.Volume().WithName("tmp").WithEmptyDir(coreac.EmptyDirVolumeSource()))
	c := appsac.Deployment(name, ns).WithSpec(appsac.DeploymentSpec().WithReplicas(1).
		WithSelector(metaac.LabelSelector().WithMatchLabels(labels)).
		WithTemplate(coreac.PodTemplateSpec().WithLabels(labels).WithSpec(pod)))
	return seal(t, object.Spec{
		Key:     object.Key{Group: "apps", Kind: "Deployment", Namespace: ns, Name: name},
		Version: "v1", Meta: c.ObjectMetaApplyConfiguration, Config: c,
	})
}

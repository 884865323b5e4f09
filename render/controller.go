package render

import (
	"cmp"
	"maps"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	appsac "k8s.io/client-go/applyconfigurations/apps/v1"
	coreac "k8s.io/client-go/applyconfigurations/core/v1"
	metaac "k8s.io/client-go/applyconfigurations/meta/v1"
	policyac "k8s.io/client-go/applyconfigurations/policy/v1"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

const (
	linkerdUser = 2103 // uid and gid of Linkerd's images
	tokenVolume = "kube-api-access"
	tokenPath   = "/var/run/secrets/kubernetes.io/serviceaccount"
	tokenTTL    = 3607
	adminPort   = "ctrl-admin"
)

// rightsIdentity returns where an object of the controller's rights goes.
func (b *builder) rightsIdentity(key object.Key, meta **metaac.ObjectMetaApplyConfiguration) identity {
	return identity{key: key, version: "v1", phase: object.PhaseRights, meta: meta, labels: b.controllerLabels()}
}

// selector selects the controller's pods; it cannot change on a live Deployment.
func (b *builder) selector() map[string]string {
	return map[string]string{
		linkerd.ComponentLabel:   linkerd.Component,
		linkerd.ClusterNameLabel: string(b.target()),
	}
}

// controller renders the link's service mirror controller (templates/controller/deployment.yaml).
func controller(b *builder) {
	key := object.Key{Group: "apps", Kind: "Deployment", Namespace: b.source().MulticlusterNamespace, Name: linkerd.Controller(b.target())}
	c := b.Link.Spec.Controller
	spec := workload(c, b.selector(), pod(b.selector(), key.Name, b.container()), antiAffinity(linkerd.ClusterNameLabel, string(b.target())))
	d := appsac.Deployment(key.Name, key.Namespace).WithSpec(spec)
	b.add(identity{key: key, version: "v1", phase: object.PhaseControllers, meta: &d.ObjectMetaApplyConfiguration, labels: b.controllerLabels()}, d)
}

// workload is the spec of a controller's Deployment. Its pods have the labels of selector, and are kept apart if c asks for that.
func workload(
	c api.Controller, selector map[string]string, template *coreac.PodTemplateSpecApplyConfiguration, apart *coreac.AffinityApplyConfiguration,
) *appsac.DeploymentSpecApplyConfiguration {
	spec := appsac.DeploymentSpec().WithReplicas(*c.Replicas).WithRevisionHistoryLimit(10).WithSelector(matching(selector)).WithTemplate(template)
	if c.PodAntiAffinity {
		spec.WithStrategy(appsac.DeploymentStrategy().WithRollingUpdate(
			appsac.RollingUpdateDeployment().WithMaxUnavailable(intstr.FromInt32(1))))
		template.Spec.WithAffinity(apart)
	}
	return spec
}

func pod(selector map[string]string, account string, container *coreac.ContainerApplyConfiguration) *coreac.PodTemplateSpecApplyConfiguration {
	labels := maps.Clone(selector)
	labels[linkerd.ExtensionLabel] = linkerd.Extension
	spec := coreac.PodSpec().
		WithServiceAccountName(account).WithAutomountServiceAccountToken(false).
		WithSecurityContext(coreac.PodSecurityContext().WithSeccompProfile(runtimeDefault())).
		WithContainers(container).WithVolumes(token())
	return coreac.PodTemplateSpec().WithLabels(labels).WithAnnotations(map[string]string{
		"linkerd.io/inject": "enabled",
		"cluster-autoscaler.kubernetes.io/safe-to-evict":         "true",
		"config.alpha.linkerd.io/proxy-wait-before-exit-seconds": "0",
	}).WithSpec(spec)
}

func (b *builder) container() *coreac.ContainerApplyConfiguration {
	c := b.Link.Spec.Controller
	args := []string{
		"service-mirror", "-log-level=" + string(c.LogLevel), "-log-format=plain", "-event-requeue-limit=3",
		"-namespace=" + b.source().MulticlusterNamespace,
	}
	if c.Headless {
		args = append(args, "-enable-headless-services")
	}
	args = append(args, "-enable-pprof=false", "-probe-service="+linkerd.ProbeService(b.target()), string(b.target()))
	return confined(c, cmp.Or(c.Image, linkerd.ControllerImage+":"+b.Source.Version), args)
}

// confined is the container of a controller, without privileges.
func confined(c api.Controller, image string, args []string) *coreac.ContainerApplyConfiguration {
	container := coreac.Container().WithName("controller").WithImage(image).WithArgs(args...).
		WithPorts(coreac.ContainerPort().WithName(adminPort).WithContainerPort(linkerd.AdminPort)).
		WithSecurityContext(coreac.SecurityContext().
			WithAllowPrivilegeEscalation(false).WithReadOnlyRootFilesystem(true).WithRunAsNonRoot(true).
			WithRunAsUser(linkerdUser).WithRunAsGroup(linkerdUser).
			WithCapabilities(coreac.Capabilities().WithDrop("ALL")).WithSeccompProfile(runtimeDefault())).
		WithVolumeMounts(coreac.VolumeMount().WithName(tokenVolume).WithMountPath(tokenPath).WithReadOnly(true))
	if r := c.Resources; len(r.Limits)+len(r.Requests) > 0 {
		container.WithResources(coreac.ResourceRequirements().WithLimits(r.Limits).WithRequests(r.Requests))
	}
	return container
}

func runtimeDefault() *coreac.SeccompProfileApplyConfiguration {
	return coreac.SeccompProfile().WithType(corev1.SeccompProfileTypeRuntimeDefault)
}

// token is the account's token, projected explicitly because automounting is off.
func token() *coreac.VolumeApplyConfiguration {
	ca := coreac.ConfigMapProjection().WithName("kube-root-ca.crt").
		WithItems(coreac.KeyToPath().WithKey("ca.crt").WithPath("ca.crt"))
	namespace := coreac.DownwardAPIProjection().WithItems(coreac.DownwardAPIVolumeFile().WithPath("namespace").
		WithFieldRef(coreac.ObjectFieldSelector().WithAPIVersion("v1").WithFieldPath("metadata.namespace")))
	return coreac.Volume().WithName(tokenVolume).WithProjected(coreac.ProjectedVolumeSource().
		WithDefaultMode(420).WithSources(
		coreac.VolumeProjection().WithServiceAccountToken(
			coreac.ServiceAccountTokenProjection().WithExpirationSeconds(tokenTTL).WithPath("token")),
		coreac.VolumeProjection().WithConfigMap(ca),
		coreac.VolumeProjection().WithDownwardAPI(namespace)))
}

// antiAffinity keeps replicas off one node, and off one zone where possible.
func antiAffinity(label, value string) *coreac.AffinityApplyConfiguration {
	term := func(topology string) *coreac.PodAffinityTermApplyConfiguration {
		return coreac.PodAffinityTerm().WithTopologyKey(topology).WithLabelSelector(
			metaac.LabelSelector().WithMatchExpressions(metaac.LabelSelectorRequirement().
				WithKey(label).WithOperator("In").WithValues(value)))
	}
	return coreac.Affinity().WithPodAntiAffinity(coreac.PodAntiAffinity().
		WithPreferredDuringSchedulingIgnoredDuringExecution(coreac.WeightedPodAffinityTerm().
			WithWeight(100).WithPodAffinityTerm(term("topology.kubernetes.io/zone"))).
		WithRequiredDuringSchedulingIgnoredDuringExecution(term("kubernetes.io/hostname")))
}

// disruption renders the disruption budget of a controller with several replicas.
func disruption(b *builder) {
	if !b.Link.Spec.Controller.PodAntiAffinity {
		return
	}
	key := object.Key{Group: "policy", Kind: "PodDisruptionBudget", Namespace: b.source().MulticlusterNamespace, Name: linkerd.Controller(b.target())}
	p := policyac.PodDisruptionBudget(key.Name, key.Namespace).WithSpec(policyac.PodDisruptionBudgetSpec().
		WithMaxUnavailable(intstr.FromInt32(1)).WithSelector(matching(b.selector())))
	b.add(identity{
		key: key, version: "v1", phase: object.PhaseControllers, meta: &p.ObjectMetaApplyConfiguration,
		labels: map[string]string{linkerd.ComponentLabel: linkerd.Component},
	}, p)
}

// probe renders the Service through which the controller probes the target's gateway. Its port must be
// the Link's probe port, which for a NodePort gateway is not Linkerd's default.
func probe(b *builder) {
	if b.Target.Gateway.Disabled {
		return
	}
	port, err := strconv.ParseInt(b.Target.Gateway.Probe.Port, 10, 32)
	if err != nil {
		port = linkerd.DefaultProbePort // a stand-in, in a rendering that is never applied
	}
	key := object.Key{Kind: "Service", Namespace: b.source().MulticlusterNamespace, Name: linkerd.ProbeService(b.target())}
	s := coreac.Service(key.Name, key.Namespace).WithSpec(coreac.ServiceSpec().WithPorts(
		coreac.ServicePort().WithName(linkerd.ProbePortName).WithPort(int32(port)).WithProtocol(corev1.ProtocolTCP)))
	b.add(identity{
		key: key, version: "v1", phase: object.PhaseLinks, meta: &s.ObjectMetaApplyConfiguration,
		labels: map[string]string{
			linkerd.ExtensionLabel:   linkerd.Extension,
			linkerd.GatewayLabel:     "true",
			linkerd.ClusterNameLabel: string(b.target()),
		},
	}, s)
}

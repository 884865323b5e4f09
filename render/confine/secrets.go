package confine

import (
	"cmp"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
	"github.com/linkwright/linkwright/render/marks"
)

const (
	inAccess     = `request.namespace == "` + object.AccessNamespace + `"`
	noAnnotation = `!has(variables.one.metadata.annotations) || `
)

// namePrefix is the prefix of the names of accounts, tokens and inventories.
func (a Account) namePrefix() string { return a.Owner + "." }

// inHomeNamespace is the CEL expression that a request is about the namespace of access Secrets, lease and record.
func (a Account) inHomeNamespace() string {
	return "request.namespace == " + quoted(cmp.Or(a.ManagementNamespace, a.Namespace))
}

// secrets: a token Secret of any account but those of links would give that account's token away. One with a name of Linkerd's issuer
// would be read as its key.
func secrets(a Account) rules {
	const token = `variables.one.type == "` + string(corev1.SecretTypeServiceAccountToken) + `"`
	account := `variables.one.metadata.annotations["` + corev1.ServiceAccountNameKey + `"]`
	return rules{
		resource: "/secrets", verbs: written(),
		variables: append(annotationVariables(),
			admissionv1.Variable{Name: "credentials", Expression: "!(" + inAccess + ") && " + startsWith("variables.name", linkerd.Credentials(""))}, // also in the management cluster's namespace
			admissionv1.Variable{Name: "kubeconfig", Expression: kubeconfigOf("object")}, admissionv1.Variable{Name: "oldKubeconfig", Expression: kubeconfigOf("oldObject")},
		),
		checks: []check{
			{
				"variables.annotations.all(k, " + sameValue("oldAnnotations", "annotations") + " || !" + startsWith("k", names(marks.OfPods(), marks.Copies())...) + ")",
				"a Secret of a link has no annotation by which a tool would copy or fill it",
			},
			{
				a.inHomeNamespace() + " || (" + inAccess + " ? " + startsWith("variables.name", a.namePrefix()) + " : " + startsWith("variables.name", linkerd.Credentials("")) + ")",
				"linkwright writes only Secrets of links: " + linkerd.Credentials("<target>") + ", and " + a.namePrefix() + "* in " + object.AccessNamespace,
			},
			{
				`!variables.credentials || variables.one.type == "` + linkerd.KubeconfigSecretType + `"`,
				"a Secret with credentials for a target has the type " + linkerd.KubeconfigSecretType,
			},
			{
				`!variables.credentials || variables.kubeconfig == "" || variables.kubeconfig == variables.oldKubeconfig || variables.kubeconfig.matches(` + quoted(kubeconfig()) + ")",
				"a kubeconfig has only an address, a CA and a token: with the path of a file in it, Linkerd's controllers would send their own tokens elsewhere",
			},
			{
				`variables.credentials || variables.one.type == "Opaque" || ` + inAccess + " && " + token +
					" && has(variables.one.metadata.annotations) && " + quoted(corev1.ServiceAccountNameKey) + " in variables.one.metadata.annotations && " + startsWith(account, a.namePrefix()),
				"a Secret holds a token only of an account " + a.namePrefix() + "* of a link",
			},
		},
	}
}

// annotationVariables are the annotations of an object, now and before.
func annotationVariables() []admissionv1.Variable {
	return []admissionv1.Variable{
		{Name: "annotations", Expression: mapOrEmpty("object", "annotations")}, {Name: "oldAnnotations", Expression: mapOrEmpty("oldObject", "annotations")},
	}
}

// accounts: those of links and of their controllers.
func accounts(a Account) rules {
	return rules{
		resource: "/serviceaccounts", verbs: written(),
		variables: annotationVariables(),
		checks: []check{
			{
				inAccess + " ? " + startsWith("variables.name", a.namePrefix()) + " : " + a.isShared() + " || " + startsWith("variables.name", linkerd.Controller(""), linkerd.LegacyController("")),
				"linkwright writes only accounts of links, and of their controllers",
			},
			{
				"variables.annotations.all(k, " + sameValue("oldAnnotations", "annotations") + " || !" + startsWith("k", marks.Clouds()...) + ")",
				"an account of a link has no cloud credentials",
			},
		},
	}
}

// tokens: of accounts of links, bound to a Secret of theirs; and of its own account, by which it renews its access.
func tokens(a Account) rules {
	return rules{
		resource: "/serviceaccounts/token", verbs: []admissionv1.OperationType{admissionv1.Create},
		checks: []check{{
			"request.namespace == " + quoted(a.Namespace) + " && request.name == " + quoted(a.Name) + " || " + inAccess + " && " + startsWith("request.name", a.namePrefix()) +
				` && has(object.spec.boundObjectRef) && object.spec.boundObjectRef.kind == "Secret" && ` + startsWith("object.spec.boundObjectRef.name", a.namePrefix()),
			"linkwright requests tokens only for accounts of links, bound to a Secret, and for its own account",
		}},
	}
}

// configMaps: inventories, the record in the management cluster, and what --overlay-kinds lets an overlay bring in.
func configMaps(a Account) rules {
	config := "variables.name == " + quoted(linkerd.ConfigName)
	return rules{
		resource: "/configmaps", verbs: written(),
		variables: []admissionv1.Variable{
			{Name: "data", Expression: "object != null && has(object.data) ? object.data : {}"},
			{Name: "oldData", Expression: "oldObject != null && has(oldObject.data) ? oldObject.data : {}"},
			{Name: "all", Expression: "dyn(object)"},
			{Name: "oldAll", Expression: "dyn(oldObject)"},
			head(), oldHead(),
		},
		checks: []check{{
			config + ` ? request.operation == "UPDATE" && ` + equalExcept("variables.all", "variables.oldAll", "data", "metadata") + " && " + sameHead() + " && " +
				equalExcept("variables.data", "variables.oldData", linkerd.ValuesKey) + " : " + inAccess + " && " + startsWith("variables.name", a.namePrefix()) + " || " + a.inMulticluster("request.namespace") + ` && variables.name != "kube-root-ca.crt" || ` + a.inHomeNamespace() + " && variables.name == " + quoted(object.Manager(a.Owner)+"-fleet"),
			"linkwright writes only its inventories, its record of clusters, and key " + linkerd.ValuesKey + " of " + linkerd.ConfigName,
		}},
	}
}

// leaseName is the name of an installation's own; those of single clusters begin with it.
func (a Account) leaseName() string { return "linkwright-" + a.Owner }

// leases: those of links' controllers, and its own.
func leases(a Account) rules {
	return rules{
		resource: "coordination.k8s.io/leases", verbs: written(),
		checks: []check{{
			a.inHomeNamespace() + " && (variables.name == " + quoted(a.leaseName()) + " || " + startsWith("variables.name", a.leaseName()+"-") + ") || " + startsWith("variables.name", linkerd.Lease("")),
			"linkwright writes only its own lease, and those of links' controllers",
		}},
	}
}

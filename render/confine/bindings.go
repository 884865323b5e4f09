package confine

import (
	"fmt"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

const rbacGroup = "rbac.authorization.k8s.io"

// bound is the CEL expression that a binding gives a role to accounts of a prefix alone; in is a condition on each subject, s.
func bound(kind, role, in, prefix string) string {
	return fmt.Sprintf(`object.roleRef.kind == %s && object.roleRef.name == %s && has(object.subjects) && object.subjects.all(s, s.kind == "ServiceAccount" && %s && %s)`,
		quoted(kind), role, in, startsWith("s.name", prefix))
}

// boundShared is bound for the account of the controller that links share, alone.
func (a Account) boundShared(kind, role, in string) string {
	return bound(kind, role, in+" && s.name == "+quoted(linkerd.Shared(a.Owner)), linkerd.Shared(a.Owner))
}

// unchanged is the CEL expression that a request gives nobody more: it deletes, or leaves what a binding says as it is.
const unchanged = `(request.operation == "DELETE" || request.operation == "UPDATE" && object.roleRef == oldObject.roleRef && ` +
	`(has(object.subjects) ? has(oldObject.subjects) && object.subjects == oldObject.subjects : true))`

// clusterRoleBindings: of links' accounts to the role of a source in its target, and of controllers to the role of a controller.
func clusterRoleBindings(a Account) rules {
	access := object.AccessNamespace + "." + a.namePrefix()
	local, legacy := linkerd.LocalAccess(""), linkerd.LegacyLocalAccess("")
	return rules{
		resource: rbacGroup + "/clusterrolebindings", verbs: written(),
		checks: []check{
			{
				a.isShared() + " || " + startsWith("variables.name", access, local, legacy),
				"linkwright writes only the ClusterRoleBindings of links: " + access + "*, " + local + "* and " + linkerd.Shared(a.Owner),
			},
			{
				unchanged + " || " + startsWith("variables.name", access) + " && " +
					bound("ClusterRole", quoted(linkerd.RemoteAccessRole), `s.namespace == "`+object.AccessNamespace+`"`, a.namePrefix()) + " || " +
					startsWith("variables.name", local) + " && " + bound("ClusterRole", quoted(linkerd.LocalAccessRole), a.inMulticluster("s.namespace"), linkerd.Controller("")) + " || " +
					a.isShared() + " && " + a.boundShared("ClusterRole", quoted(linkerd.LocalAccessRole), a.inMulticluster("s.namespace")),
				"a ClusterRoleBinding of a link gives Linkerd's role to the link's account",
			},
		},
	}
}

// ofControllers checks the name of a controller's Role or RoleBinding.
func ofControllers(a Account, kinds string) check {
	return check{
		a.isShared() + " || " + startsWith("variables.name", linkerd.ReadCredentials(""), linkerd.LegacyReadCredentials("")),
		"linkwright writes only the " + kinds + " of links' controllers",
	}
}

// roles: what a controller may do in its namespace.
func roles(a Account) rules {
	return rules{
		resource: rbacGroup + "/roles", verbs: written(),
		checks: []check{
			ofControllers(a, "Roles"),
			{
				`request.operation == "DELETE" || request.operation == "UPDATE" && object.rules == oldObject.rules || object.rules.all(r, ` +
					`r.apiGroups == [""] && r.resources == ["secrets"] && has(r.resourceNames) && r.resourceNames.all(n, n.startsWith("` + linkerd.Credentials("") + `")) && r.verbs.all(v, v in ["get", "list", "watch"]) || ` +
					`r.apiGroups == ["` + linkerd.Group + `"] && r.resources.all(x, x in ["links", "links/status"]) || ` +
					`r.apiGroups == ["coordination.k8s.io"] && r.resources == ["leases"])`,
				"the Role of a link's controller covers only its Secret by name, Linkerd's Links and leases",
			},
		},
	}
}

// roleBindings: of such a role to a controller's account, or to that of the shared controller.
func roleBindings(a Account) rules {
	here := "(!has(s.namespace) || s.namespace == request.namespace)"
	return rules{
		resource: rbacGroup + "/rolebindings", verbs: written(),
		checks: []check{
			ofControllers(a, "RoleBindings"),
			{
				unchanged + " || " + bound("Role", "variables.name", here, linkerd.Controller("")) + " || " +
					a.boundShared("Role", "variables.name.replace("+quoted(linkerd.SharedSuffix)+`, "")`, here),
				"the RoleBinding of a link's controller gives it the Role of its own name",
			},
		},
	}
}

package enroll

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/confine"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
	"github.com/linkwright/linkwright/sync/rights"
	"github.com/linkwright/linkwright/sync/state"
)

func rbacCommand() *cobra.Command {
	f, out, account := cli.Common{}, cli.Format{}, ""
	var reader, wide, confined, sweep bool
	var only []string
	c := &cobra.Command{
		Use:   "rbac [PATH | REPO@REV]",
		Short: "Print the rights that linkwright needs in each cluster",
		Long: `Print the rights that linkwright's account needs in each cluster for what is
declared, as YAML, without any cluster.

There are two sets of rights for writing. The first is for everything. The
second (<name>-mirrors) deletes mirrors in all namespaces if Linkerd's
controllers cannot do it. It is for clusters with federated services or
controller.mode External, and for all clusters with --sweep. Without it,
removing such a link stops and says so. With --reader there is one set, for an
account that only reads: enough for status. diff then shows what differs as
rendered, because the API server offers a dry run only to those who may write.

Admission policies come first. They confine the account to what linkwright does,
which RBAC cannot: it has no prefixes of names and no fields.

Apply new rights before a change that needs more of them, and after one that
needs fewer. deploy/management has the rights in the management cluster. In the
control plane's namespace the rights are for single Secrets, by name, so a new
target needs new rights. With --wide they are for all Secrets there, including
the issuer's key.`,
		Example: `  linkwright rbac . --cluster east | kubectl --context east apply -f -
  linkwright rbac . --cluster east --reader --account ci/linkwright-diff`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := f.Management.Check(); err != nil {
				return err
			}
			a, err := accountOf(account)
			if err != nil {
				return err
			}
			a.images, a.record, a.confined, a.sweep = f.Management.Images, f.Management.Namespace, confined && !reader, sweep
			if a.name, a.reader, a.wide = object.Manager(f.Management.Owner), reader, wide; reader && wide {
				return cli.Usage("--reader and --wide exclude each other")
			}
			return f.WithoutClusters(c, args, "", func(w state.Snapshot, r plan.Renderer) error {
				answer, err := a.answer(w, r, only)
				if err != nil {
					return err
				}
				return cli.Write(c.OutOrStdout(), out.Format, answer)
			})
		},
	}
	f.Add(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddImages)
	c.Flags().StringVar(&account, "account", "linkwright/linkwright", "NAMESPACE/NAME of the account that gets the rights")
	c.Flags().BoolVar(&reader, "reader", false, "only the rights to read: linkwright cannot write with them")
	c.Flags().BoolVar(&wide, "wide", false, wideUsage)
	c.Flags().BoolVar(&sweep, "sweep", false, sweepUsage)
	c.Flags().BoolVar(&confined, "confine", true, confineUsage)
	c.Flags().StringArrayVar(&only, "cluster", nil, "print only this cluster (repeatable)")
	return c
}

// grantee is an account, and the name of the roles it gets.
type grantee struct {
	namespace, account, name string
	reader, wide             bool
	confined                 bool     // by admission policies, too
	sweep                    bool     // also where no declared link needs that in its ordinary life
	record                   string   // namespace of the record and the access Secrets
	images                   []string // of controllers, that are allowed
}

// wideUsage says what --wide gives, and what that opens.
const wideUsage = "grant all Secrets of the control plane's namespace, also for targets that are declared later: anybody with linkwright's token can then read the key of Linkerd's issuer"

// sweepUsage says what --sweep gives.
const sweepUsage = "also grant the right to delete mirrors in all namespaces, for links whose controller does not delete them; links with federated services or controller.mode External get it anyway"

// confineUsage says what --confine gives.
const confineUsage = "also give admission policies that confine linkwright's account (Kubernetes 1.30), and the rights to restart linkerd-destination, and workloads where a rollout is declared; --confine=false gives only the other rights"

func accountOf(text string) (grantee, error) {
	namespace, name, ok := strings.Cut(text, "/")
	if !ok || namespace == "" || name == "" || strings.Contains(name, "/") {
		return grantee{}, cli.Usage("--account %q: want NAMESPACE/NAME, such as linkwright/linkwright", text)
	}
	return grantee{namespace: namespace, account: name}, nil
}

// answer are the objects of the chosen clusters.
func (a grantee) answer(w state.Snapshot, r plan.Renderer, only []string) (report.Answer, error) {
	chosen, err := cli.Clusters(w.Fleet, only)
	if err != nil {
		return report.Answer{}, err
	}
	var out report.Manifests
	for _, c := range chosen {
		objects, err := a.objects(w, c, r)
		if err != nil {
			return report.Answer{}, err
		}
		for _, o := range objects {
			text, err := yaml.Marshal(o)
			if err != nil {
				return report.Answer{}, err
			}
			out.Add(string(c.Name), o, text)
		}
	}
	return out.Answer(), nil
}

// objects are all of one cluster, in the order in which they are applied.
func (a grantee) objects(w state.Snapshot, c fleet.Cluster, r plan.Renderer) ([]any, error) {
	type set struct {
		name   string
		duties []rights.Duty
	}
	sets := []set{{a.name, a.duties()}}
	switch {
	case a.reader:
		sets[0].name = a.name + "-reader"
	case a.sweep || rights.Sweeps(w, c):
		sets = append(sets, set{a.name + "-mirrors", []rights.Duty{rights.Sweeping}})
	}
	account := &corev1.ServiceAccount{
		TypeMeta: typed("v1", "ServiceAccount"), ObjectMeta: metav1.ObjectMeta{Name: a.account, Namespace: a.namespace}, AutomountServiceAccountToken: new(false),
	}
	out := []any{namespace(a.namespace), account}
	if a.namespace != object.AccessNamespace {
		out = append(out, namespace(object.AccessNamespace))
	}
	if a.confined { // before the rights that they bound
		out = append(out, a.confinement(w.Owner, c)...)
	}
	for _, set := range sets {
		rules, err := rights.For(w, c, r, set.duties...)
		if err != nil {
			return nil, err
		}
		for _, ns := range slices.SortedFunc(maps.Keys(rules), cmp.Compare[string]) {
			out = append(out, a.role(ns, set.name, rules[ns])...)
		}
	}
	return out, nil
}

// duties are what the account is for, but for sweeping.
func (a grantee) duties() []rights.Duty {
	duty := rights.Writing
	switch {
	case a.reader:
		return []rights.Duty{rights.Reading}
	case a.wide:
		duty = rights.Wide
	}
	if a.confined {
		return []rights.Duty{duty, rights.ReportingStatus, rights.Restarting}
	}
	return []rights.Duty{duty}
}

// confinement are the admission policies that hold the account to what RBAC cannot say.
func (a grantee) confinement(owner string, c fleet.Cluster) (out []any) {
	for _, o := range confine.Objects(confine.Account{
		Owner: owner, Namespace: a.namespace, Name: a.account, ManagementNamespace: a.record, Multicluster: c.Spec.Linkerd.MulticlusterNamespace, Images: a.images,
	}) {
		out = append(out, o)
	}
	return out
}

// role is one with its binding; without a namespace, one for the whole cluster.
func (a grantee) role(ns, name string, rules []rbacv1.PolicyRule) []any {
	meta := metav1.ObjectMeta{Name: name, Namespace: ns}
	subjects := []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: a.account, Namespace: a.namespace}}
	if ns == "" {
		return []any{
			&rbacv1.ClusterRole{TypeMeta: typed(rbacVersion, "ClusterRole"), ObjectMeta: meta, Rules: rules},
			&rbacv1.ClusterRoleBinding{
				TypeMeta: typed(rbacVersion, "ClusterRoleBinding"), ObjectMeta: meta, Subjects: subjects,
				RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name},
			},
		}
	}
	return []any{
		&rbacv1.Role{TypeMeta: typed(rbacVersion, "Role"), ObjectMeta: meta, Rules: rules},
		&rbacv1.RoleBinding{
			TypeMeta: typed(rbacVersion, "RoleBinding"), ObjectMeta: meta, Subjects: subjects,
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: name},
		},
	}
}

const rbacVersion = rbacv1.GroupName + "/v1"

func typed(version, kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: kind}
}

// namespace as it is written, without a status.
func namespace(name string) any { return labelled(name, nil) }

// restricted is a namespace that admits only restricted pods, which linkwright's is.
func restricted(name string) any {
	return labelled(name, map[string]string{"pod-security.kubernetes.io/enforce": "restricted"})
}

func labelled(name string, labels map[string]string) any {
	type metadata struct {
		Name   string            `json:"name"`
		Labels map[string]string `json:"labels,omitempty"`
	}
	return struct {
		metav1.TypeMeta `json:",inline"`
		Metadata        metadata `json:"metadata"`
	}{typed("v1", "Namespace"), metadata{name, labels}}
}

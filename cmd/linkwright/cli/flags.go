package cli

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/setup"
)

// ManagementFlags are the flags about the installation and its management cluster.
type ManagementFlags struct {
	Owner, Kubeconfig, Context, Namespace string
	prefix                                string // of --kubeconfig and --context
	chosen                                chosen // once the management cluster was opened
	Timeout                               time.Duration
	local                                 localFlags
	decisions                             decisionFlags
	writes                                writeFlags
	unreachable                           time.Duration // --unreachable-source-timeout
	Images                                []string
	Log                                   LogFlags
}

// localFlags say what declarations may name of this machine.
type localFlags struct{ paths, exec bool }

// decisionFlags are what people decide for a single sync.
type decisionFlags struct{ accept, abandon []string }

// writeFlags limit what is written.
type writeFlags struct {
	only               []string
	pruneCap           *api.PruneLimits // nil: as declared
	requireConfinement bool
}

func (h *ManagementFlags) add(f *pflag.FlagSet) {
	h.AddManagement(f)
	h.unreachable = defaultUnreachable
	h.AddLocal(f)
	f.StringArrayVar(&h.decisions.accept, "accept-cluster", nil, "NAME=UID: confirm that a cluster is the one with this kube-system uid (repeatable)")
}

// AddLocal adds what clusters' declarations may name of this machine.
func (h *ManagementFlags) AddLocal(f *pflag.FlagSet) {
	f.BoolVar(&h.local.paths, "allow-kubeconfig-paths", false, "let declarations name kubeconfig files of this machine (access.kubeconfig)")
	f.BoolVar(&h.local.exec, "allow-exec", false, "let kubeconfigs of --allow-kubeconfig-paths start credential plugins")
}

// managementPrefix is that of --kubeconfig and --context in commands in which those are about another cluster.
const managementPrefix = "management-"

// Prefixed gives --kubeconfig and --context the prefix management-.
func (h *ManagementFlags) Prefixed() { h.prefix = managementPrefix }

// AddManagement are the flags that lead to the record of an installation.
func (h *ManagementFlags) AddManagement(f *pflag.FlagSet) {
	h.addOwner(f)
	f.StringVar(&h.Kubeconfig, h.prefix+"kubeconfig", "", "kubeconfig of the management cluster (default: KUBECONFIG, the cluster this runs in, or ~/.kube/config)")
	f.StringVar(&h.Context, h.prefix+"context", "", "context of the management cluster (default: the current one)")
	f.StringVarP(&h.Namespace, "namespace", "n", DefaultNamespace, "namespace of linkwright in the management cluster: access Secrets, lease, record")
	h.Timeout = 15 * time.Second
	f.Var(&Span{At: &h.Timeout}, "cluster-timeout", TimeoutUsage)
}

// AddReading are the flags of commands that read the record and the clusters' inventories, and no repository.
func (h *ManagementFlags) AddReading(f *pflag.FlagSet) {
	Group(f, GroupClusters, func(f *pflag.FlagSet) {
		h.AddManagement(f)
		h.AddLocal(f)
	})
	Group(f, ungrouped, h.Log.Add)
}

// TimeoutUsage is that of --cluster-timeout.
const TimeoutUsage = "time limit of one request to a cluster; connecting may take 10s less, but at least 5s"

// DefaultNamespace is linkwright's own in the management cluster.
const DefaultNamespace = "linkwright"

// AddDead are the flags of commands that take away what dead clusters had, and give them up.
func (h *ManagementFlags) AddDead(f *pflag.FlagSet) {
	h.AddGrace(f)
	f.StringArrayVar(&h.decisions.abandon, "abandon-cluster", nil, "NAME: give up a cluster that is not declared any more and cannot be read; what it holds stays there (repeatable)")
}

// AddGrace adds for how long a source that gives no answer keeps its access.
func (h *ManagementFlags) AddGrace(f *pflag.FlagSet) {
	f.Var(&Span{At: &h.unreachable, None: true}, "unreachable-source-timeout", "how long the source of a removed link keeps its access to the target while it does not answer; 0s: not at all")
}

// abandoned are the clusters that people give up.
func (h *ManagementFlags) abandoned() map[api.ClusterName]bool {
	out := make(map[api.ClusterName]bool, len(h.decisions.abandon))
	for _, name := range h.decisions.abandon {
		out[api.ClusterName(name)] = true
	}
	return out
}

func (h *ManagementFlags) addOwner(f *pflag.FlagSet) {
	f.StringVar(&h.Owner, "owner", object.DefaultOwner, "name of this installation: the ownership label's value")
}

// AddOnly adds which clusters are written.
func (h *ManagementFlags) AddOnly(f *pflag.FlagSet) {
	f.Var(&pruneCap{at: &h.writes.pruneCap}, "prune-limits", "maxClusters=N,maxLinks=P%,minAllowed=N,maxMirrors=P%: limits of what one commit may remove, which declarations cannot raise; those left out are as declared")
	f.StringArrayVar(&h.writes.only, "only-write", nil, "write only to this cluster, and read all; takes one lease per cluster (repeatable)")
}

// AddImages adds which images controllers may run.
func (h *ManagementFlags) AddImages(f *pflag.FlagSet) {
	f.StringArrayVar(&h.Images, "allow-controller-image", nil, "PREFIX: let links use controller images that begin with it (controller.image; default: none; repeatable)")
}

// AddConfinement is for commands that see whether policies confine linkwright, which allow the same images.
func (h *ManagementFlags) AddConfinement(f *pflag.FlagSet) {
	h.AddImages(f)
	f.BoolVar(&h.writes.requireConfinement, "require-confinement", false, "write nothing to a cluster whose admission policies do not confine linkwright's account (cluster add creates them)")
}

// Renderer renders what may be written here.
func (h *ManagementFlags) Renderer(k *Kustomize) plan.Renderer {
	return setup.Renderer(h.Owner, h.Images, k.Loader)
}

// Check refuses values of which no valid names could be made.
func (h *ManagementFlags) Check() error {
	if problems := validation.IsDNS1123Label(h.Owner); len(problems) > 0 || len(h.Owner) > 30 {
		return Usage("--owner %q: want at most 30 lower-case letters, digits and dashes", h.Owner)
	}
	if problems := validation.IsDNS1123Label(h.Namespace); h.Namespace != "" && len(problems) > 0 {
		return Usage("--namespace %q: %s", h.Namespace, strings.Join(problems, "; "))
	}
	if slices.Contains(h.Images, "") {
		return Usage("--allow-controller-image: an empty prefix would allow every image")
	}
	for _, name := range h.onlyNames() {
		if err := api.CheckClusterName(name); err != nil {
			return Usage("--only-write: %w", err)
		}
	}
	for _, name := range h.decisions.abandon {
		if err := api.CheckClusterName(api.ClusterName(name)); err != nil {
			return Usage("--abandon-cluster: %w", err)
		}
	}
	return nil
}

// CheckUID refuses what no API server gives an object as its uid.
func CheckUID(uid string) error {
	if !regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString(uid) {
		return fmt.Errorf("%q is no uid: kubectl get namespace kube-system --output jsonpath={.metadata.uid} shows that of a cluster", uid)
	}
	return nil
}

func (h *ManagementFlags) accepted() (map[api.ClusterName]string, error) {
	out := map[api.ClusterName]string{}
	for _, a := range h.decisions.accept {
		name, uid, ok := strings.Cut(a, "=")
		if !ok || name == "" || uid == "" {
			return nil, Usage("--accept-cluster %q: want NAME=UID", a)
		}
		if err := CheckUID(uid); err != nil {
			return nil, Usage("--accept-cluster %q: want NAME=UID: %w", a, err)
		}
		out[api.ClusterName(name)] = uid
	}
	return out, nil
}

// Installation is how commands that messages name are given.
func (h *ManagementFlags) Installation() object.Installation {
	return object.Installation{Owner: h.Owner, Namespace: h.Namespace}
}

func (h *ManagementFlags) onlyNames() []api.ClusterName {
	out := make([]api.ClusterName, len(h.writes.only))
	for i, n := range h.writes.only {
		out[i] = api.ClusterName(n)
	}
	return out
}

// Span is a duration that is checked when it is read.
type Span struct {
	At   *time.Duration
	None bool // zero means something
}

func (s *Span) String() string {
	if s.At == nil || *s.At == 0 {
		return "0"
	}
	return s.At.String()
}

// Type implements pflag.Value.
func (s *Span) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *Span) Set(word string) error {
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return errors.New("want a duration like 30s or 2m")
	case d < 0:
		return errors.New("must not be negative")
	case d == 0 && !s.None:
		return errors.New("must be more than 0")
	}
	*s.At = d
	return nil
}

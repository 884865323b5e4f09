package main

import (
	"errors"
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

// homeFlags say who we are and where our own objects live.
type homeFlags struct {
	owner, kubeconfig, namespace string
	timeout                      time.Duration
	allowPaths, allowExec        bool
	only                         []string
	accept                       []string
	forget                       []string
	grace                        time.Duration
	pruneCap                     *api.PruneLimits // nil: as declared
	images                       []string
	requireConfinement           bool
	log                          logFlags
}

func (h *homeFlags) add(f *pflag.FlagSet) {
	h.addHome(f)
	h.grace = defaultGrace
	f.BoolVar(&h.allowPaths, "allow-kubeconfig-paths", false, "let declarations name kubeconfig files of this machine (access.kubeconfig)")
	f.BoolVar(&h.allowExec, "allow-exec", false, "let kubeconfigs of --allow-kubeconfig-paths start credential plugins")
	f.StringArrayVar(&h.accept, "accept-cluster", nil, "NAME=UID: confirm that a cluster is the one with this kube-system uid (repeatable)")
}

// addHome are the flags that lead to the record of an installation.
func (h *homeFlags) addHome(f *pflag.FlagSet) {
	h.addOwner(f)
	f.StringVar(&h.kubeconfig, "home-kubeconfig", "", "kubeconfig of the home cluster (default: the cluster this runs in)")
	f.StringVar(&h.namespace, "namespace", defaultNamespace, "namespace of the home cluster: access Secrets, lease, record")
	h.timeout = 15 * time.Second
	f.Var(&span{at: &h.timeout}, "cluster-timeout", "bound of one request to a cluster")
}

// defaultNamespace is linkwright's own in the management cluster.
const defaultNamespace = "linkwright"

// addDead are the flags of commands that take away what dead clusters had, and give them up.
func (h *homeFlags) addDead(f *pflag.FlagSet) {
	h.addGrace(f)
	f.StringArrayVar(&h.forget, "abandon-cluster", nil, "NAME: give up a cluster that is declared no more and cannot be read: what it holds stays there (repeatable)")
	f.StringArrayVar(&h.forget, "forget-cluster", nil, "")
	f.Lookup("forget-cluster").Hidden = true // its former name
}

func (h *homeFlags) addGrace(f *pflag.FlagSet) {
	f.Var(&span{at: &h.grace, none: true}, "access-grace", "how long a source that gives no answer keeps its access to the target of a removed link; 0s: not at all")
}

// forgotten are the clusters that people give up.
func (h *homeFlags) forgotten() map[api.ClusterName]bool {
	out := make(map[api.ClusterName]bool, len(h.forget))
	for _, name := range h.forget {
		out[api.ClusterName(name)] = true
	}
	return out
}

func (h *homeFlags) addOwner(f *pflag.FlagSet) {
	f.StringVar(&h.owner, "owner", object.DefaultOwner, "name of this installation: the ownership label's value")
}

func (h *homeFlags) addOnly(f *pflag.FlagSet) {
	f.Var(&pruneCap{at: &h.pruneCap}, "prune-limits", "maxClusters=N,maxLinks=P%,minAllowed=N,maxMirrors=P%: limits of what one commit may remove that no declaration can raise; those left out are as declared")
	f.StringArrayVar(&h.only, "only-write", nil, "write only this cluster, while all are read; holds a lease per cluster (repeatable)")
}

func (h *homeFlags) addImages(f *pflag.FlagSet) {
	f.StringArrayVar(&h.images, "allow-controller-image", nil, "PREFIX: let links name controller images that begin so (controller.image; default: none; repeatable)")
}

// addConfinement is for commands that see whether policies confine linkwright, which allow the same images.
func (h *homeFlags) addConfinement(f *pflag.FlagSet) {
	h.addImages(f)
	f.BoolVar(&h.requireConfinement, "require-confinement", false, "write nothing to a cluster whose admission policies do not confine linkwright's account (cluster add gives them)")
}

// renderer renders what may be written here.
func (h *homeFlags) renderer(k *kustomize) plan.Renderer {
	return setup.Renderer(h.owner, h.images, k.Loader)
}

// check refuses words that could not stand in every name made of them.
func (h *homeFlags) check() error {
	if problems := validation.IsDNS1123Label(h.owner); len(problems) > 0 || len(h.owner) > 30 {
		return usage("--owner %q: want at most 30 lower-case letters, digits and dashes", h.owner)
	}
	if problems := validation.IsDNS1123Label(h.namespace); h.namespace != "" && len(problems) > 0 {
		return usage("--namespace %q: %s", h.namespace, strings.Join(problems, "; "))
	}
	if slices.Contains(h.images, "") {
		return usage("--allow-controller-image: an empty prefix would allow every image")
	}
	for _, name := range h.onlyNames() {
		if err := api.CheckClusterName(name); err != nil {
			return usage("--only-write: %w", err)
		}
	}
	for _, name := range h.forget {
		if err := api.CheckClusterName(api.ClusterName(name)); err != nil {
			return usage("--abandon-cluster: %w", err)
		}
	}
	return nil
}

func (h *homeFlags) accepted() (map[api.ClusterName]string, error) {
	out := map[api.ClusterName]string{}
	for _, a := range h.accept {
		name, uid, ok := strings.Cut(a, "=")
		if !ok || name == "" || uid == "" {
			return nil, usage("--accept-cluster %q: want NAME=UID", a)
		}
		out[api.ClusterName(name)] = uid
	}
	return out, nil
}

// installation is how commands that messages name are given.
func (h *homeFlags) installation() object.Installation {
	return object.Installation{Owner: h.owner, Namespace: h.namespace}
}

func (h *homeFlags) onlyNames() []api.ClusterName {
	out := make([]api.ClusterName, len(h.only))
	for i, n := range h.only {
		out[i] = api.ClusterName(n)
	}
	return out
}

// span is a duration that is checked when it is read.
type span struct {
	at   *time.Duration
	none bool // zero means something
}

func (s *span) String() string {
	if s.at == nil || *s.at == 0 {
		return "0"
	}
	return s.at.String()
}

// Type implements pflag.Value.
func (s *span) Type() string { return "duration" }

// Set implements pflag.Value.
func (s *span) Set(word string) error {
	d, err := time.ParseDuration(word)
	switch {
	case err != nil:
		return errors.New("want a duration like 30s or 2m")
	case d < 0:
		return errors.New("must not be negative")
	case d == 0 && !s.none:
		return errors.New("must be more than 0")
	}
	*s.at = d
	return nil
}

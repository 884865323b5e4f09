package enroll

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/state"
)

// checkAll is checkOne for `cluster add --all`.
func (e *enrollment) checkAll(args []string) (path []string, err error) {
	switch {
	case len(args) != 1:
		return nil, cli.Usage("--all needs the declarations: name one directory, or REPO@REV, and no cluster")
	case e.secret != "" || e.login.server != "":
		return nil, cli.Usage("--secret and --api-server are for one cluster: with --all, linkwright takes them from the declarations and the contexts")
	}
	for _, c := range e.contexts {
		if name, context, ok := strings.Cut(c, "="); !ok || name == "" || context == "" {
			return nil, cli.Usage("--context %q: with --all, want NAME=CONTEXT", c)
		}
	}
	e.declared = true
	return args, nil
}

// enrollAll adds every cluster of the declarations. One that fails is reported, and the others go on. After a signal no other begins.
func (e *enrollment) enrollAll(ctx context.Context, w state.Snapshot, r plan.Renderer) error {
	contexts := map[api.ClusterName]string{}
	for _, c := range e.contexts {
		name, context, _ := strings.Cut(c, "=")
		contexts[api.ClusterName(name)] = context
	}
	for _, name := range slices.Sorted(maps.Keys(contexts)) {
		if _, ok := w.Fleet.Cluster(name); !ok {
			return fmt.Errorf("--context %s=%s: cluster %s is not declared there", name, contexts[name], name)
		}
	}
	todo := e.addable(w.Fleet)
	names := make([]api.ClusterName, len(todo))
	for i, c := range todo {
		names[i] = c.Name
	}
	defer e.notes.Show(ctx, live.Management)()
	var failed []error
	var added, missing []string
	for i, c := range todo {
		if why := cli.Interrupted(ctx); why != nil {
			return errors.Join(append(failed, stopped(why, names, i))...)
		}
		e.notes.Nth(names, i)
		one := *e
		one.name, one.login.context = c.Name, contexts[c.Name]
		if one.login.context == "" && !c.Spec.Access.InCluster {
			one.login.context = string(c.Name)
		}
		err := one.enroll(ctx, w, r)
		if why := cli.Interrupted(ctx); why != nil && err != nil {
			return errors.Join(append(failed, stopped(why, names, i))...)
		}
		if err != nil {
			failed, missing = append(failed, fmt.Errorf("add cluster %s: %w", c.Name, err)), append(missing, string(c.Name))
			continue
		}
		added = append(added, string(c.Name))
	}
	if e.f.Writing.Dry() {
		return errors.Join(failed...)
	}
	return errors.Join(append(failed, partly(added, missing))...)
}

// partly says which clusters were added, and which were not; nil: that is all of them, or none.
func partly(added, missing []string) error {
	if len(added) == 0 || len(missing) == 0 {
		return nil
	}
	return cli.Exit{Code: cli.ExitPartial, Err: fmt.Errorf("%d of %d clusters failed: %s; done: %s; run the command again: it keeps what is done",
		len(missing), len(added)+len(missing), strings.Join(missing, ", "), strings.Join(added, ", "))}
}

// addable are the clusters that this command can add. The others are reported.
func (e *enrollment) addable(f *fleet.Fleet) (out []fleet.Cluster) {
	for _, c := range f.Clusters {
		if c.Spec.Access.Kubeconfig != nil {
			cli.Say(e.notes, fmt.Sprintf("%s: left out, because it is declared with access.kubeconfig, your own file; linkwright rbac prints the rights it needs", c.Name))
			continue
		}
		out = append(out, c)
	}
	return out
}

// stopped says which clusters were not added because a signal came: the one of this index, and those after it.
func stopped(why error, names []api.ClusterName, i int) error {
	words := make([]string, 0, len(names)-i)
	for _, n := range names[i:] {
		words = append(words, string(n))
	}
	return fmt.Errorf("%w: %d of %d clusters were not added: %s; run the command again", why, len(words), len(names), strings.Join(words, ", "))
}

// grantInManagement gives the account its rights in the cluster that linkwright runs in: by its context, or the login of the management
// cluster. Its token is the pod's own, so there is no Secret.
func (e *enrollment) grantInManagement(ctx context.Context, w state.Snapshot, c fleet.Cluster, r plan.Renderer) error {
	there, err := e.openManagement()
	if err != nil {
		return err
	}
	if _, err := there.identity(ctx, c.Spec.Linkerd); err != nil {
		return fmt.Errorf("read cluster %s: %w", c.Name, err)
	}
	objects, err := e.objects(ctx, there.admin, w, c, r)
	if err != nil {
		return err
	}
	if err := there.grant(ctx, objects, e.granting(c.Name)); err != nil {
		return err
	}
	e.declare(c)
	return nil
}

func (e *enrollment) openManagement() (newCluster, error) {
	if e.login.context != "" {
		return e.login.open(e.f.Management.Timeout)
	}
	cfg, err := e.f.Management.Config()
	if err != nil {
		return newCluster{}, err
	}
	e.f.Management.Announce(e.notes, nil)
	o, err := openAdmin(cfg, e.f.Management.Timeout)
	return newCluster{admin: o}, err
}

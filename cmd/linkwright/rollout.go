package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/rollout/survey"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/report"
)

// rolloutFlags say which clusters are read.
type rolloutFlags struct {
	logins
	namespace      string
	all, noHeaders bool
	out            cli.Format
}

func rolloutCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "rollout",
		Short: "Show which workloads must restart to get other proxies",
		Long: `Show which workloads must restart to get other proxies: after a ProxyConfig, an
upgrade of Linkerd or new trust anchors, pods keep the proxy that they started
with.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(rolloutStatus(), rolloutPause(), rolloutResume(), rolloutUndo())
	return c
}

func rolloutStatus() *cobra.Command {
	f := rolloutFlags{}
	c := &cobra.Command{
		Use:   "status --context A --context B",
		Short: "List workloads that run other proxies than they would get now",
		Long: `List the Deployments, StatefulSets, DaemonSets and Argo Rollouts whose pods
run other proxies than they would get now, and what a restart would change.
Nothing is written: for each workload it creates a pod as a server-side dry run,
to which Linkerd's injector answers with the proxy of a new pod. A new value of
linkerd-config reaches the injector one or two minutes after the change.

It uses your own rights: to list pods, namespaces and workloads of these kinds,
and to create pods. Pods of other kinds are Unknown. PODS counts the current
pods, and all.

The exit code is 4 if a workload of these kinds is Outdated or Unknown, or a
cluster was not read in full. It is 2 if none was read.`,
		Example: `  linkwright rollout status --context east --context west
  linkwright rollout status --context east --namespace shop --all -o json`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.status(c) },
	}
	f.out.Add(c.Flags(), report.ListFormats())
	f.addLogins(c, "read")
	c.Flags().StringVarP(&f.namespace, "namespace", "n", "", "only workloads of this namespace (default: all)")
	c.Flags().BoolVar(&f.all, "all", false, "list workloads that are Current, too")
	c.Flags().BoolVar(&f.noHeaders, "no-headers", false, "leave out the line of column names")
	return c
}

// status shows the workloads of all clusters, one after the other. One that cannot be read is an error beside the others.
func (f *rolloutFlags) status(c *cobra.Command) error {
	all, err := f.open()
	if err != nil {
		return err
	}
	names := namesOf(all)
	show := cli.DisplayOf(c, f.timeout)
	defer show.Show(c.Context(), live.Cluster(names[0]))()
	var workloads []report.Workload
	var unread []error
	for i, l := range all {
		show.Nth(names, i)
		found, err := f.survey(c.Context(), l)
		if stopped := cli.Interrupted(c.Context()); stopped != nil {
			return stopped
		}
		if err != nil {
			unread = append(unread, err)
		}
		workloads = append(workloads, found...)
	}
	return f.show(c, workloads, unread)
}

// survey reads one cluster.
func (f *rolloutFlags) survey(ctx context.Context, l login) ([]report.Workload, error) {
	name := l.name
	client, err := survey.NewClient(l.config)
	if err != nil {
		return nil, fmt.Errorf("cluster %s: %w", name, err)
	}
	found, err := survey.Read(ctx, client, survey.Options{Namespace: f.namespace, ArgoRollouts: true})
	if err != nil {
		why := cluster.Explain(err)
		return nil, fmt.Errorf("cluster %s was not read: %s: %s", name, why.Code, why.Message)
	}
	var out []report.Workload
	for _, w := range found.Workloads {
		one := report.Workload{
			Cluster: name, Kind: w.Kind, Namespace: w.Namespace, Name: w.Name, Reconcile: w.OptsIn, Pods: w.Pods, Outdated: w.Outdated, Differences: w.Differences,
		}
		if w.Err != nil {
			one.Unknown = whyUnknown(w.Err)
		}
		out = append(out, one)
	}
	for _, p := range found.Others {
		out = append(out, report.Workload{Cluster: name, Kind: podKind, Namespace: p.Namespace, Name: p.Name, Pods: 1, Unknown: notCompared(p)})
	}
	if found.ArgoErr != nil {
		why := cluster.Explain(found.ArgoErr)
		return out, partlyRead{fmt.Errorf("cluster %s: Argo Rollouts were not read: %s: %s", name, why.Code, why.Message)}
	}
	return out, nil
}

// partlyRead is why a part of a cluster was not read, although the others were.
type partlyRead struct{ error }

// whyUnknown is why nobody knows what a restart would change.
func whyUnknown(err error) *object.Reason {
	if errors.Is(err, survey.ErrNoProxy) {
		return object.Because(reason.NotCompared, "the dry run got no proxy: check that Linkerd's injector runs, and whether the workload is still to be injected")
	}
	why := cluster.Explain(err)
	return &why
}

// podKind is the kind of what is only reported.
const podKind = "Pod"

// notCompared is why a pod is only reported.
func notCompared(p survey.Pod) *object.Reason {
	if p.Controller == "" {
		return object.Because(reason.NotCompared, "no controller made this pod, so nothing shows how a new one would be: delete and create it to give it the current proxy")
	}
	return object.Because(reason.NotCompared, "linkwright does not compare pods of a %s: a new one gets the current proxy", p.Controller)
}

// show prints what was found, and ends with what it says.
func (f *rolloutFlags) show(c *cobra.Command, all []report.Workload, unread []error) error {
	exit, listed := cli.Exit{Code: cli.ExitDone}, all[:0:0]
	for _, w := range all {
		if w.Outdated > 0 || w.Unknown != nil && w.Kind != podKind {
			exit.Code = cli.ExitPartial
		}
		if f.all || w.Unknown != nil || w.Outdated > 0 {
			listed = append(listed, w)
		}
	}
	whollyUnread := slices.DeleteFunc(slices.Clone(unread), func(err error) bool { return errors.As(err, &partlyRead{}) })
	text := f.out.Format == report.Text || f.out.Format == report.Wide
	if l := report.Workloads(listed); l.Len() > 0 || !text {
		if err := cli.Write(c.OutOrStdout(), f.out.Format, l.Answer(!f.noHeaders)); err != nil {
			return err
		}
	}
	if text && len(whollyUnread) < len(f.contexts) {
		cli.Say(c.ErrOrStderr(), report.SumOfWorkloads(all))
	}
	switch {
	case len(whollyUnread) == len(f.contexts):
		exit.Code, exit.Err = cli.ExitError, errors.Join(unread...)
	case len(unread) > 0:
		exit.Code, exit.Err = cli.ExitPartial, errors.Join(unread...)
	}
	if exit.Code == cli.ExitDone {
		return nil
	}
	exit.Shown = exit.Err == nil
	return exit
}

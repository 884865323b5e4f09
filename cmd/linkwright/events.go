package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/report"
)

func eventsCommand() *cobra.Command {
	var h cli.ManagementFlags
	var l listFlags
	about := ""
	c := &cobra.Command{
		Use:   "events [--for KIND/NAME]",
		Short: "Show the last transition of each condition",
		Long: `Show when each link last changed, and why: the last transition of each condition
that the clusters' inventories record, of the applied and the observed revision,
and each suspend, resume and approval. Of a removed link, they show for a week
when its last object went. The newest is last. Earlier transitions are not
recorded: the log of the daemon has them. Conditions are those of kstatus.
Stalled is True if a fault lasts, or needs somebody to act: STATUS may then also
be Blocked or Denied.

It reads the management cluster's record and the inventories, needs no
repository and no daemon, and writes nothing.`,
		Example: `  linkwright events --kubeconfig management.yaml
  linkwright events --for link/west/east --watch`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			wanted, err := eventsFor(about)
			if err != nil {
				return err
			}
			return l.show(&h, c, func(o report.Overview) (report.Listing, error) {
				all := o.EventList().Only(wanted.matches)
				if err := wanted.exists(o); err != nil && all.Len() == 0 {
					return report.Listing{}, err
				}
				return all, nil
			})
		},
	}
	h.AddReading(c.Flags())
	l.add(c, report.EventFormats())
	c.Flags().StringVar(&about, "for", "", "show only the events of link/SOURCE/TARGET, revision/COMMIT or approval/HASH, or of cluster/NAME and its links")
	return c
}

// eventFilter is what events are chosen by; zero: nothing, which chooses all.
type eventFilter struct{ kind, name string }

func eventsFor(about string) (eventFilter, error) {
	if about == "" {
		return eventFilter{}, nil
	}
	if filter, ok := eventsOf(about); ok {
		return filter, nil
	}
	return eventFilter{}, cli.Usage("--for %q: write link/SOURCE/TARGET, cluster/NAME, revision/COMMIT or approval/HASH%s", about, meantEvents(about))
}

// eventsOf reads KIND/NAME.
func eventsOf(about string) (eventFilter, bool) {
	kind, name, _ := strings.Cut(about, "/")
	for _, r := range resources() {
		if ref, ok := r.ref(name); ok && r.kind == kind {
			return eventFilter{kind, strings.TrimPrefix(ref, kind+"/")}, true
		}
	}
	return eventFilter{kind, name}, kind == approvalKind && name != ""
}

// approvalKind is that of events about an approval, whose name is its hash.
const approvalKind = "approval"

// meantEvents is the end of an error about what is no KIND/NAME: what was probably meant.
func meantEvents(about string) string {
	kind, name, _ := strings.Cut(about, "/")
	kind, isKind := api.Nearest(kind, []string{"link", "cluster", "revision", approvalKind})
	pair, isPair := cli.ParsePair(about)
	meant := ""
	switch {
	case isKind && name != "":
		meant = kind + "/" + name
	case isPair:
		meant = "link/" + pair.Name()
	case api.CheckClusterName(api.ClusterName(about)) == nil:
		meant = "cluster/" + about
	}
	if _, ok := eventsOf(meant); !ok {
		return ""
	}
	return "; did you mean " + meant + "?"
}

// matches says that an event about an object is wanted.
func (s eventFilter) matches(object string) bool {
	kind, name, _ := strings.Cut(object, "/")
	switch s.kind {
	case "":
		return true
	case "revision", approvalKind: // which the first digits choose
		return kind == s.kind && strings.HasPrefix(name, s.name)
	}
	source, target, _ := strings.Cut(name, "/")
	return s.kind == "cluster" && kind == "link" && (source == s.name || target == s.name) || kind == s.kind && name == s.name
}

// exists says which link, cluster or revision there is not.
func (s eventFilter) exists(o report.Overview) error {
	for _, r := range resources() {
		if r.kind == s.kind {
			_, err := r.chosen(o, []string{s.name})
			return err
		}
	}
	return nil
}

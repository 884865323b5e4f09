package decide

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
)

// longestCheck bounds how long clusters may take to say which links they have: people suspend links because a cluster does not answer.
const longestCheck = 5 * time.Second

// RecordedLinks gives the links that the inventories of some clusters of a record have, and why some of these clusters were not read.
type RecordedLinks func(ctx context.Context, q Question) (links []api.Pair, unread map[api.ClusterName]object.Reason)

// Question is which clusters are asked for their links.
type Question struct {
	Management *cli.ManagementFlags
	Record     inventory.Record
	In         []api.ClusterName
	Log        *slog.Logger
}

// linkCheck checks once that links exist, because a record may have to be changed more than once.
type linkCheck struct {
	of        *deciding
	ask       RecordedLinks
	done      bool
	unchecked []string
	err       error
}

// check refuses a link that is in no inventory of its clusters, and says of which links that is not known. It asks the sources first: a dead
// target then costs no time.
func (l *linkCheck) check(ctx context.Context, r inventory.Record, all []inventory.Decision) (unchecked []string, err error) {
	if l.done {
		return l.unchecked, l.err
	}
	l.done = true
	var missing, seen []api.Pair
	for _, one := range all {
		if one.Cluster == "" {
			missing = append(missing, api.Pair{Source: one.Source, Target: one.Target})
		}
	}
	unread := map[api.ClusterName]object.Reason{}
	for _, cluster := range []func(api.Pair) api.ClusterName{source, func(p api.Pair) api.ClusterName { return recordedAs(r, p.Target) }} {
		links, silent := l.links(ctx, r, clustersOf(missing, cluster))
		seen = append(seen, links...)
		maps.Copy(unread, silent)
		missing = slices.DeleteFunc(missing, func(p api.Pair) bool { return slices.Contains(seen, p) })
	}
	for _, p := range missing {
		if why := l.unknown(r, p, unread); why != "" {
			l.unchecked = append(l.unchecked, why)
		} else if l.err == nil {
			l.err = l.noLink(p, seen)
		}
	}
	return l.unchecked, l.err
}

func source(p api.Pair) api.ClusterName { return p.Source }

// clustersOf are the clusters of links, each once.
func clustersOf(links []api.Pair, cluster func(api.Pair) api.ClusterName) (out []api.ClusterName) {
	for _, p := range links {
		out = append(out, cluster(p))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// links asks clusters for theirs.
func (l *linkCheck) links(ctx context.Context, r inventory.Record, in []api.ClusterName) ([]api.Pair, map[api.ClusterName]object.Reason) {
	if len(in) == 0 {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, longestCheck)
	defer cancel()
	return l.ask(ctx, Question{Management: &l.of.management, Record: r, In: in, Log: l.of.log})
}

// unknown says that nobody knows whether a link exists, because a cluster of it was not read; empty: both were.
func (l *linkCheck) unknown(r inventory.Record, p api.Pair, unread map[api.ClusterName]object.Reason) string {
	for _, name := range []api.ClusterName{p.Source, recordedAs(r, p.Target)} {
		if why, silent := unread[name]; silent {
			return fmt.Sprintf("linkwright could not check that link %s exists: cluster %s was not read (%s). To check later: %s",
				p.Name(), name, why.Code, l.of.command("get", "links", p.Name()))
		}
	}
	return ""
}

// noLink says that a link does not exist, and which one may be meant.
func (l *linkCheck) noLink(p api.Pair, seen []api.Pair) error {
	return fmt.Errorf("no cluster has an end of link %s%s: %s lists the links; if no sync has written it yet, declare suspend: true in its Link",
		p.Name(), cli.NearestLink(p, seen), l.of.command("get", "links"))
}

// recordedAs is the name by which the record has a cluster that may be named by a second name.
func recordedAs(r inventory.Record, name api.ClusterName) api.ClusterName {
	for known, c := range r.Clusters {
		if slices.Contains(c.Names, name) {
			return known
		}
	}
	return name
}

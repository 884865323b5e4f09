package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/fleet"
	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

func rotateCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	var revoke bool
	c := &cobra.Command{
		Use:   "rotate --repo URL [LINK...]",
		Short: "Replace the tokens of links",
		Long: `Replace the tokens of links, or of all links. LINK is the name of a Link or a
Mesh, or a link as any output shows it: SOURCE/TARGET, "SOURCE → TARGET",
or "SOURCE->TARGET".

The inventory of each link's end in its target records the request. "run" and
"sync" then have the target issue another token, and write it to the source.
They remove the former token when the source uses the new one, the new one is
not known to fail, and Linkerd's control plane has loaded it. No link is
interrupted, except remote discovery with --revoke if linkwright may not restart
the control plane: the command says so.

A former token of mode Bound stays until the next rotation, or until it expires.
With --revoke it is removed like the others, for example after a leak.

A suspended link gets its token when it is resumed. The command writes nothing
but the request, and needs no Lease. It does not replace a token of mode
Existing: your secret manager does.`,
		Example: `  linkwright rotate west/east --repo URL --kubeconfig management.yaml
  linkwright rotate west/east --revoke --repo URL --kubeconfig management.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			f.Shows(c, !f.Writing.Dry(), out.Format)
			e, w, err := f.Read(c)
			if err != nil {
				return err
			}
			defer e.Close(c.Context())
			links, err := toRotate(w.Fleet, args)
			if err != nil {
				return err
			}
			turns := plan.RequestRotations(w, links, revoke, plan.Suspend, plan.PrunePolicy)
			return rotation{engine{e}, f.Writing}.request(c, turns, &out)
		},
	}
	f.Add(c.Flags())
	f.Writing.Add(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	c.Flags().BoolVar(&revoke, "revoke", false, "remove every former token once the new one is in use")
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddImages)
	return c
}

// toRotate are the links that are named; without a name all whose tokens linkwright issues.
func toRotate(f *fleet.Fleet, args []string) (links []fleet.Link, err error) {
	chosen, err := cli.Links(f, args, false)
	if err != nil {
		return nil, err
	}
	for l := range f.Links() {
		if chosen[l.Pair()] || len(args) == 0 && l.Spec.Credentials.Mode != api.Existing {
			links = append(links, l)
		}
	}
	if len(links) == 0 {
		return nil, errors.New("no declared link has a token that linkwright issues")
	}
	slices.SortFunc(links, func(a, b fleet.Link) int { return a.Pair().Compare(b.Pair()) })
	return links, nil
}

// rotation is the request for new tokens.
type rotation struct {
	engine
	writing cli.Writing
}

// request writes every inventory; what fails keeps no other from being written.
func (r rotation) request(c *cobra.Command, turns []plan.Rotation, as *cli.Format) error {
	done, failed := r.ask(c.Context(), turns)
	var lines strings.Builder
	for _, one := range done {
		if one.Denied == nil && one.Err == nil && !one.Skipped {
			lines.WriteString(r.line(one.Rotation) + "\n")
		}
	}
	if err := cli.Write(c.OutOrStdout(), as.Format, report.RotationsAnswer(r.writing.DryMode(), done, lines.String())); err != nil {
		return err
	}
	r.writing.Ended(as.Beside(c))
	if len(failed) > 0 {
		return cli.Exit{Code: cli.ExitPartial, Err: errors.Join(failed...)}
	}
	return nil
}

// ask writes the requests. After a signal it begins no other.
func (r rotation) ask(ctx context.Context, turns []plan.Rotation) (done []report.Rotation, failed []error) {
	defer r.Live.Show(ctx, live.Requests)()
	for i, t := range turns {
		one := report.Rotation{Rotation: t}
		switch {
		case ctx.Err() != nil:
			for _, t := range turns[i:] {
				done = append(done, report.Rotation{Rotation: t, Skipped: true})
			}
			return done, append(failed, fmt.Errorf("%w: %d of %d rotations were not requested; run the command again", sync.Interrupted(ctx), len(turns)-i, len(turns)))
		case t.Denied != nil:
			failed = append(failed, fmt.Errorf("rotate %s: %s: %s", t.Link, t.Denied.Code, t.Denied.Message))
		default:
			if one.Err = r.send(ctx, t); one.Err != nil {
				failed = append(failed, fmt.Errorf("rotate %s in cluster %s: %w; run the command again", t.Link, t.Change.End.Cluster, one.Err))
			}
		}
		done = append(done, one)
	}
	return done, failed
}

// send writes one request, or what a dry run has instead, and finishes that also after a signal: the client limits how long it takes.
func (r rotation) send(ctx context.Context, t plan.Rotation) error {
	if t.Requested {
		return nil
	}
	ctx = context.WithoutCancel(ctx)
	switch r.writing.Mode {
	case cli.DryRunClient:
		return nil
	case cli.DryRunServer:
		return dryRuns{r.Engine}.dryRun(ctx, t.Change)
	}
	return r.Loop.Clusters.WithCluster(ctx, t.Change.End.Cluster, func(c object.Cluster) error {
		_, err := c.Write(ctx, t.Change)
		return err
	})
}

// line is one line about a rotation.
func (r rotation) line(t plan.Rotation) string {
	line := fmt.Sprintf("%s: another token %s", t.Link, map[bool]string{true: "would be requested", false: "is requested"}[r.writing.Dry()])
	if t.Requested {
		line = fmt.Sprintf("%s: another token is already requested, and not in use yet", t.Link)
	}
	if t.WaitsFor != nil {
		line += fmt.Sprintf("; it waits: %s: %s", t.WaitsFor.Code, t.WaitsFor.Message)
	}
	if t.Note != nil {
		line += fmt.Sprintf("; note: %s: %s", t.Note.Code, t.Note.Message)
	}
	return line
}

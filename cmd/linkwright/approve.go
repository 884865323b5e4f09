package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/sync"
	"github.com/linkwright/linkwright/sync/plan"
)

func approveCommand() *cobra.Command {
	var f common
	c := &cobra.Command{
		Use:   "approve --repo URL HASH...",
		Short: "Let go what is refused as too much",
		Long: `Let go what is refused as too much (TooMuch), by the hash that the refusal names.

A hash stands for what one commit would take from one cluster: these very objects, as they live now. It is
written into the inventories of the ends that would lose them, where "run" and "sync" find it; an object
made anew under the same name is not approved. An approval is dropped once all of it is gone. What carries
linkwright.dev/prune: disabled stays, and so does everything while prune.policy is not Sync.

Where a removal has two ends, both clusters may refuse; neither end goes before each is approved. With --ref
a pull request is approved before it is merged: linkwright diff --ref BRANCH tells its hashes. Nothing else
is written, and the lease is not needed. A hash that is not refused today is an error that lists those that are.`,
		Example: `  linkwright approve 3f9c0e51b7a2 --repo URL --home-kubeconfig home
  linkwright approve 3f9c0e51b7a2 8d02b6c9e114 --repo URL --ref retire-east --home-kubeconfig home`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if err := checkHashes(args); err != nil {
				return err
			}
			e, err := f.open(c.Context(), c.ErrOrStderr())
			if err != nil {
				return err
			}
			defer e.close(c.Context())
			e.readOnly()
			w, err := e.loop.Look(c.Context(), noTerm)
			if errors.Is(err, sync.ErrInvalid) {
				return exit{exitInvalid, err}
			}
			if err != nil {
				return err
			}
			today := refusals(w, e.loop.Renderer)
			chosen, rest, err := choose(today, args)
			if err != nil {
				return err
			}
			err = e.approve(c.Context(), chosen, c.OutOrStdout())
			for _, x := range rest {
				if slices.ContainsFunc(chosen, x.Shares) {
					say(c.OutOrStdout(), "not yet approved, and nothing goes before it is: "+excessive(x))
				}
			}
			return err
		},
	}
	f.add(c.Flags())
	group(c.Flags(), groupClusters, f.home.addImages)
	return c
}

func checkHashes(args []string) error {
	form := regexp.MustCompile(`^[0-9a-f]{12}$`)
	for _, hash := range args {
		if !form.MatchString(hash) {
			return usage("%q is no hash: 12 hex digits, as the refusal TooMuch names them", hash)
		}
	}
	return nil
}

// refusals are what is refused as too much by what is declared, in the order of clusters.
func refusals(w plan.World, r plan.Renderer) (out []plan.Excess) {
	for _, name := range sortedNames(w) {
		if x, ok := plan.TooMuch(w, name, r); ok {
			out = append(out, x)
		}
	}
	return out
}

// choose finds what hashes name, all of them or none, and what they do not name.
func choose(today []plan.Excess, hashes []string) (chosen, rest []plan.Excess, err error) {
	for _, hash := range hashes {
		if !slices.ContainsFunc(today, func(x plan.Excess) bool { return x.Hash == hash }) {
			return nil, nil, fmt.Errorf("approve %s: no refusal has this hash: what is to go is another by now, or declared elsewhere (--ref); those of today:%s", hash, list(today))
		}
	}
	for _, x := range today {
		if slices.Contains(hashes, x.Hash) {
			chosen = append(chosen, x)
		} else {
			rest = append(rest, x)
		}
	}
	return chosen, rest, nil
}

func list(today []plan.Excess) (out string) {
	for _, x := range today {
		out += "\n  " + excessive(x)
	}
	if out == "" {
		return "\n  none: nothing is refused as too much by what is declared now"
	}
	return out
}

// excessive is one line about what is refused.
func excessive(x plan.Excess) string {
	ends := make([]string, len(x.Ends))
	for i, end := range x.Ends {
		ends[i] = end.String()
	}
	return fmt.Sprintf("%s  %d objects of cluster %s: %s", x.Hash, x.Objects, x.Cluster, strings.Join(ends, ", "))
}

// approve writes every inventory; what fails keeps no other from being written.
func (e *engine) approve(ctx context.Context, chosen []plan.Excess, out io.Writer) error {
	var failed []error
	for _, x := range chosen {
		err := e.loop.Clusters.WithCluster(ctx, x.Cluster, func(c sync.Cluster) error {
			for _, ch := range x.Approve {
				if _, err := c.Write(ctx, ch); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			failed = append(failed, fmt.Errorf("approve %s in cluster %s: %w; ask linkwright status for what is still refused", x.Hash, x.Cluster, err))
			continue
		}
		say(out, "approved "+excessive(x))
	}
	if len(failed) > 0 {
		return exit{exitPartial, errors.Join(failed...)}
	}
	return nil
}

package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/decide"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

func approveCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	c := &cobra.Command{
		Use:   "approve HASH",
		Short: "Let a revision remove what is over a limit",
		Long: `Let a revision remove what is over a limit (PruneLimitExceeded). HASH is in the
message of that reason. It stands for exactly the clusters, links, selectors and
overlays that the revision removes.

The management cluster's record keeps the approval, with your name and the time.
A daemon follows it within seconds. It ends when all of that is being removed,
and after 30 days if nobody uses it. Objects with linkwright.dev/prune: disabled
stay. So does everything while prune.policy is not Sync.

Without --repo, HASH is what "linkwright status" shows as denied. With --repo
and --ref you approve a pull request before it is merged: "linkwright diff"
shows its HASH.`,
		Example: `  linkwright approve 3f9c0e51b7a2 --kubeconfig management.yaml
  linkwright approve 3f9c0e51b7a2 --repo URL --ref retire-east`,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if !regexp.MustCompile(`^[0-9a-f]{12}$`).MatchString(args[0]) {
				return cli.Usage("%q is not a hash: want 12 hexadecimal digits, as the message of PruneLimitExceeded shows them", args[0])
			}
			found, err := approveDenied(&f, c, &out, args[0])
			if found || err != nil && (f.Git.Options.Repo == "" || !errors.Is(err, errNotDenied)) {
				return err
			}
			return approveDeclared(&f, c, &out, args[0])
		},
	}
	f.Add(c.Flags())
	f.Writing.Add(c.Flags())
	out.Add(c.Flags(), report.DescribeFormats())
	cli.Group(c.Flags(), cli.GroupClusters, f.Management.AddImages)
	return c
}

// errNotDenied means that the record denies nothing by a hash.
var errNotDenied = errors.New("to approve a pull request, give --repo and --ref")

// approveDenied approves what the record says is denied, and says whether it is what the hash names.
func approveDenied(f *cli.Common, c *cobra.Command, as *cli.Format, hash string) (bool, error) {
	cs, err := openInstalled(&f.Management, c)
	if err != nil {
		return false, err
	}
	defer cs.Close(c.Context())
	f.Management.Announce(c.ErrOrStderr(), cs.log)
	err = (approval{c, cs, f.Writing, as}).record(func(r inventory.Record) ([]inventory.Unit, error) {
		switch {
		case r.Denied != nil && r.Denied.Hash == hash:
			return r.Denied.Units, nil
		case r.Denied != nil:
			return nil, fmt.Errorf("approve %s: another removal is denied now: %s; %w", hash, removing(r.Denied.Hash, r.Denied.Units), errNotDenied)
		}
		return nil, fmt.Errorf("approve %s: nothing is denied now; %w", hash, errNotDenied)
	})
	return err == nil, err
}

// approveDeclared approves what the declarations of --ref remove.
func approveDeclared(f *cli.Common, c *cobra.Command, as *cli.Format, hash string) error {
	f.Shows(c, false, as.Format)
	e, w, err := f.Read(c)
	if err != nil {
		return err
	}
	defer e.Close(c.Context())
	r := plan.Removal(w, e.Loop.Renderer)
	return approval{c, installedOf(e), f.Writing, as}.record(func(inventory.Record) ([]inventory.Unit, error) {
		switch {
		case len(r.Units) == 0:
			return nil, fmt.Errorf("approve %s: the declarations of --ref remove nothing that needs an approval", hash)
		case r.Hash != hash:
			return nil, fmt.Errorf("approve %s: the declarations of --ref remove something else: %s", hash, removing(r.Hash, r.Units))
		}
		return r.Units, nil
	})
}

// removing is one line about what a hash names.
func removing(hash string, units []inventory.Unit) string {
	return hash + "  " + strings.Join(unitNames(units), ", ")
}

func unitNames(units []inventory.Unit) []string {
	names := make([]string, len(units))
	for i, u := range units {
		names[i] = u.String()
	}
	return names
}

// approval is one in the making.
type approval struct {
	c       *cobra.Command
	at      installed
	writing cli.Writing
	as      *cli.Format
}

// record adds an approval to the record. Two people at once lose nothing: who comes second reads what the first wrote.
func (a approval) record(choose func(inventory.Record) ([]inventory.Unit, error)) error {
	var made inventory.Approval
	ctx := a.c.Context()
	shown := a.at.live.Show(ctx, live.Management)
	defer shown()
	by := decide.User(ctx, a.at.LeaseConfig())
	err := a.at.recorded().AmendBy(ctx, a.at.owner, func(r *inventory.Record) error {
		units, err := choose(*r)
		if err != nil {
			return err
		}
		made = inventory.Approval{Hash: inventory.HashOf(units), Units: units, By: by, At: time.Now().UTC().Truncate(time.Second)}
		r.Approvals = append(slices.DeleteFunc(slices.Clone(r.Approvals), func(a inventory.Approval) bool { return a.Hash == made.Hash }), made)
		return nil
	}, a.writing.Recording(a.at.Management()))
	shown()
	if err == nil {
		err = cli.Write(a.c.OutOrStdout(), a.as.Format, a.answer(made))
	}
	if err == nil {
		a.writing.Ended(a.as.Beside(a.c))
	}
	return err
}

func (a approval) answer(made inventory.Approval) report.Answer {
	one := report.Decision{
		Kind: "Approval", Object: made.Hash, Removes: unitNames(made.Units), By: made.By, At: made.At, Change: report.Recorded,
	}
	return report.DecisionsAnswer(a.writing.DryMode(), []report.Decision{one}, a.writing.Would("approved ")+removing(made.Hash, made.Units)+"\n")
}

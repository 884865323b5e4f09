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
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

func approveCommand() *cobra.Command {
	var f cli.Common
	var out cli.Format
	withdraw := false
	c := &cobra.Command{
		Use:   "approve HASH",
		Short: "Let a revision remove what is over a limit",
		Long: `Let a revision remove what is over a limit (PruneLimitExceeded). HASH is in the
message of that reason. It stands for exactly the clusters, links, selectors and
overlays that the revision removes.

The management cluster's record keeps the approval, with your name and the time.
A daemon follows it within seconds. It ends when all of that is being removed,
and after 30 days if nobody uses it. --withdraw takes it back; a removal that
began goes on. "linkwright events" shows for a week who did either. Objects with
linkwright.dev/prune: disabled stay. So does everything while prune.policy is
not Sync.

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
			if withdraw {
				return withdrawApproval(&f, c, &out, args[0])
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
	c.Flags().BoolVar(&withdraw, "withdraw", false, "take the decision back")
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
	err = (approval{c, cs, f.Writing, as}).record(hash, func(r inventory.Record) ([]inventory.Unit, error) {
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

// approveDeclared approves what the declarations remove.
func approveDeclared(f *cli.Common, c *cobra.Command, as *cli.Format, hash string) error {
	f.Shows(c, false, as.Format)
	e, w, err := f.Read(c)
	if err != nil {
		return err
	}
	defer e.Close(c.Context())
	r := plan.Removal(w, e.Loop.Renderer)
	return approval{c, installedOf(e), f.Writing, as}.record(hash, func(inventory.Record) ([]inventory.Unit, error) {
		switch {
		case len(r.Units) == 0:
			return nil, fmt.Errorf("approve %s: the declarations remove nothing that needs an approval", hash)
		case r.Hash != hash:
			return nil, fmt.Errorf("approve %s: the declarations remove something else: %s", hash, removing(r.Hash, r.Units))
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
func (a approval) record(hash string, choose func(inventory.Record) ([]inventory.Unit, error)) error {
	by := decide.User(a.c.Context(), a.at.LeaseConfig())
	return a.amend(func(r *inventory.Record) (made approved, err error) {
		if one, ok := r.Approved(hash, time.Now()); ok {
			return approved{of: one}, record.ErrUnchanged
		}
		units, err := choose(*r)
		if err != nil {
			return made, err
		}
		one := inventory.Approval{Hash: inventory.HashOf(units), Units: units, By: by, At: time.Now().UTC().Truncate(time.Second)}
		r.Approve(one)
		return approved{one, report.Recorded}, nil
	})
}

// withdrawApproval takes an approval out of the record.
func withdrawApproval(f *cli.Common, c *cobra.Command, as *cli.Format, hash string) error {
	cs, err := openInstalled(&f.Management, c)
	if err != nil {
		return err
	}
	defer cs.Close(c.Context())
	f.Management.Announce(c.ErrOrStderr(), cs.log)
	by := decide.User(c.Context(), cs.LeaseConfig())
	return approval{c, cs, f.Writing, as}.amend(func(r *inventory.Record) (approved, error) {
		if one, ok := r.WithdrawApproval(hash, by, time.Now()); ok {
			return approved{one, report.Withdrawn}, nil
		}
		return approved{}, fmt.Errorf("approve %s: the record has no approval of that: its removal began, or nobody approved it", hash)
	})
}

// approved is an approval, and what became of it; an empty change: it was in the record before.
type approved struct {
	of  inventory.Approval
	how report.DecisionChange
}

// amend changes the approvals in the record, and shows what became of one.
func (a approval) amend(change func(*inventory.Record) (approved, error)) error {
	ctx := a.c.Context()
	shown := a.at.live.Show(ctx, live.Management)
	defer shown()
	var made approved
	err := a.at.recorded().AmendBy(ctx, a.at.owner, func(r *inventory.Record) (err error) {
		made, err = change(r)
		return err
	}, a.writing.Recording(a.at.Management()))
	var follows decide.Following
	if err == nil && !a.writing.Dry() {
		follows = decide.Follows(ctx, a.at.Management(), a.in())
	}
	shown()
	if err != nil {
		return err
	}
	if err := cli.Write(a.c.OutOrStdout(), a.as.Format, made.answer(a.writing, a.in(), follows)); err != nil {
		return err
	}
	a.writing.Ended(a.as.Beside(a.c))
	return nil
}

func (a approval) in() object.Installation {
	return object.Installation{Owner: a.at.owner, Namespace: a.at.namespace}
}

// answer says what became of an approval; follows: which process follows it.
func (a approved) answer(w cli.Writing, in object.Installation, follows decide.Following) report.Answer {
	one := report.Decision{
		Kind: "Approval", Object: a.of.Hash, Removes: unitNames(a.of.Units), By: a.of.By, At: a.of.At, Change: a.how, Note: follows.Note(),
	}
	what := removing(a.of.Hash, a.of.Units)
	back := "To take it back: " + in.Command("approve "+a.of.Hash+" --withdraw")
	var lines []string
	switch {
	case a.how == report.Withdrawn:
		lines = []string{w.Would("taken back: ") + what, string(follows)}
	case a.how == report.Recorded && w.Dry():
		lines = []string{w.Would("approved ") + what}
	case a.how == report.Recorded:
		lines = []string{"approved " + what, string(follows), back}
	default:
		lines = []string{"already approved " + what + ": " + a.of.Given(), back}
	}
	return report.DecisionsAnswer(w.DryMode(), []report.Decision{one}, strings.Join(slices.DeleteFunc(lines, func(l string) bool { return l == "" }), "\n")+"\n")
}

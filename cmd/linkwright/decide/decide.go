// Package decide answers: what did a person decide? Its commands record decisions in the management cluster, and take them back.
package decide

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/user"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/cmd/linkwright/live"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/prune/inventory"
	"github.com/linkwright/linkwright/sync/record"
	"github.com/linkwright/linkwright/sync/report"
)

// Commands are those that record decisions. Some ask which links are recorded.
func Commands(recorded RecordedLinks) []*cobra.Command {
	return []*cobra.Command{acceptCommand(), allowCommand(), abandonCommand(), reconcileCommand(), suspendCommand(recorded), resumeCommand()}
}

// deciding is what the commands share that record a decision of a person in the management cluster.
type deciding struct {
	management cli.ManagementFlags
	writing    cli.Writing
	out        cli.Format
	reason     string
	withdraw   bool
	log        *slog.Logger // from decide on
	question   string       // that is asked before anything is written; empty: none
}

func (d *deciding) add(f *pflag.FlagSet) {
	d.addManagement(f)
	f.StringVar(&d.reason, "reason", "", "why, in one line: status, reports and the log show it")
}

// addManagement adds the flags of every command that records or takes back a decision.
func (d *deciding) addManagement(f *pflag.FlagSet) {
	cli.Group(f, cli.GroupClusters, d.management.AddManagement)
	d.out.Add(f, report.DescribeFormats())
	if d.question != "" {
		d.writing.AddAsking(f)
		return
	}
	d.writing.Add(f)
}

func (d *deciding) addWithdraw(f *pflag.FlagSet) {
	d.add(f)
	f.BoolVar(&d.withdraw, "withdraw", false, "take the decision back")
}

// longestReason is in characters: the record is one ConfigMap.
const longestReason = 200

func (d *deciding) check() error {
	if err := d.management.Check(); err != nil {
		return err
	}
	if len([]rune(d.reason)) > longestReason || strings.ContainsFunc(d.reason, unicode.IsControl) {
		return cli.Usage("--reason: want one line of at most %d characters", longestReason)
	}
	return nil
}

// change changes the record, and gives what became of decisions. It may be asked more than once.
type change func(r *inventory.Record, by string) (outcome, error)

// decide changes the record, also if others change it at the same time.
func (d *deciding) decide(c *cobra.Command, how change) error {
	if err := d.check(); err != nil {
		return err
	}
	cfg, err := d.management.Config()
	if err != nil {
		return err
	}
	h, err := d.management.OpenManagement(c.Context())
	if err != nil {
		return err
	}
	defer h.Close(c.Context())
	progress, log, err := d.management.Display(c)
	if err != nil {
		return err
	}
	d.log = log
	d.management.Announce(c.ErrOrStderr(), log)
	by := ""
	return d.confirmed(c, func(w cli.Writing) (out outcome, err error) {
		defer progress.Show(c.Context(), live.Management)()
		by = cmp.Or(by, User(c.Context(), cfg))
		at := record.ManagementCluster{Cluster: h, Namespace: d.management.Namespace}
		out, err = amend(c.Context(), at, d.management.Owner, amendment{func(r *inventory.Record) (outcome, error) { return how(r, by) }, w.Recording(h)})
		if err == nil && out.followed && !w.Dry() {
			out.following = Follows(c.Context(), h, object.Installation{Owner: d.management.Owner, Namespace: d.management.Namespace})
		}
		return out, err
	})
}

// amendment is how the record is changed and written.
type amendment struct {
	change func(*inventory.Record) (outcome, error)
	write  func(context.Context, object.Change) error
}

// amend changes the record, and gives what became of decisions.
func amend(ctx context.Context, at record.ManagementCluster, owner string, a amendment) (out outcome, err error) {
	err = at.AmendBy(ctx, owner, func(r *inventory.Record) (err error) {
		if out, err = a.change(r); err == nil && len(out.changes) == 0 {
			err = record.ErrUnchanged
		}
		return err
	}, a.write)
	return out, err
}

// confirmed amends the record and shows what became of it. A command that asks first shows what would become of it.
func (d *deciding) confirmed(c *cobra.Command, amend func(cli.Writing) (outcome, error)) error {
	if d.question != "" && !d.withdraw && !d.writing.Yes() && !d.writing.Dry() {
		preview := cli.Writing{Mode: cli.DryRunClient}
		planned, err := amend(preview)
		if err != nil {
			return err
		}
		_, _ = io.WriteString(d.out.Beside(c), planned.text(preview))
		if err := d.writing.Confirm(c, d.question); err != nil {
			return errors.Join(d.unconfirmed(c, planned.answer(preview)), err)
		}
	}
	done, err := amend(d.writing)
	if err != nil {
		return err
	}
	if err := cli.Write(c.OutOrStdout(), d.out.Format, done.answer(d.writing)); err != nil {
		return err
	}
	d.writing.Ended(d.out.Beside(c))
	return nil
}

// unconfirmed answers with what would become of the record, unless that was shown as text.
func (d *deciding) unconfirmed(c *cobra.Command, planned report.Answer) error {
	if d.out.Format == report.Text {
		return nil
	}
	return cli.Write(c.OutOrStdout(), d.out.Format, planned)
}

// Decisions are the decisions of an owner in effect, and those that this release does not understand, approvals among them.
func Decisions(r inventory.Record, owner string, now time.Time) (out []report.Decision) {
	for _, text := range r.Unread {
		out = append(out, report.Decision{Kind: "Approval", Object: text, Unread: true})
	}
	for _, d := range r.Decisions {
		switch why := d.Check(); {
		case d.Past() && why == nil:
		case d.Unread != "":
			out = append(out, report.Decision{Object: d.Unread, Unread: true})
		case why != nil:
			out = append(out, report.Decision{Kind: string(d.Kind), Object: d.Object(), By: d.By, At: d.At, Reason: why.Error(), Unread: true})
		case !d.Expired(now):
			one := reported(d)
			one.Stays = stays(r, owner, d)
			out = append(out, one)
		}
	}
	return out
}

// Suspensions are the suspensions in the record, also those whose time is over, and those that ended.
func Suspensions(r inventory.Record) (out []report.Decision) {
	for _, d := range r.Decisions {
		if (d.Kind == inventory.Suspend || d.Kind == inventory.Resume) && d.Check() == nil {
			out = append(out, reported(d))
		}
	}
	return out
}

// Approvals are the approvals in effect, and what the record shows of those that were given or taken back within a week. Each is there once.
func Approvals(r inventory.Record, now time.Time) (out []report.Decision) {
	for _, d := range r.Decisions {
		if (d.Kind == inventory.Approve || d.Kind == inventory.WithdrawApproval) && d.Check() == nil {
			out = append(out, reported(d))
		}
	}
	for _, a := range r.Approvals {
		shown := slices.ContainsFunc(r.Decisions, func(d inventory.Decision) bool {
			return d.Kind == inventory.Approve && d.By == a.By && d.At.Equal(a.At)
		})
		if !shown && !a.Expired(now) {
			out = append(out, report.Decision{Kind: string(inventory.Approve), Object: a.Hash, Removes: []string{a.Removes()}, By: a.By, At: a.At})
		}
	}
	return out
}

func reported(d inventory.Decision) report.Decision {
	out := report.Decision{Kind: string(d.Kind), Object: d.Object(), UID: d.UID, Until: d.Until, By: d.By, At: d.At, Reason: d.Reason}
	if d.Removes != "" {
		out.Removes = []string{d.Removes}
	}
	return out
}

// User is the name of the person who decides: as the API server calls this login, else as this machine does.
func User(ctx context.Context, cfg *rest.Config) string {
	cfg = rest.CopyConfig(cfg)
	cfg.Timeout = 5 * time.Second
	if client, err := kubernetes.NewForConfig(cfg); err == nil {
		review, err := client.AuthenticationV1().SelfSubjectReviews().Create(ctx, &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
		if err == nil && review.Status.UserInfo.Username != "" {
			return review.Status.UserInfo.Username
		}
	}
	name, host := "somebody", "an unknown machine"
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	if h, err := os.Hostname(); err == nil {
		host = h
	}
	return name + "@" + host
}

// record makes decisions complete, and says what was recorded and how to take it back.
func (d *deciding) record(r *inventory.Record, by, back string, all ...inventory.Decision) outcome {
	for i := range all {
		all[i].By, all[i].At, all[i].Reason = by, time.Now(), d.reason
	}
	var out outcome
	for _, one := range all {
		out.stays = append(out.stays, stays(*r, d.management.Owner, one)...)
		replaced := r.Decide(one)
		at := slices.IndexFunc(r.Decisions, func(o inventory.Decision) bool {
			return o.Kind == one.Kind && o.Object() == one.Object() && o.By == by
		})
		out.add(report.Recorded, r.Decisions[at])
		out.add(report.Replaced, replaced...)
	}
	out.followed = true
	if back != "" {
		out.after = append(out.after, "To take it back: "+back)
	}
	return out
}

// withdrawAll takes decisions out of the record; it is an error if there is none.
func (d *deciding) withdrawAll(r *inventory.Record, none string, which func(inventory.Decision) bool) (outcome, error) {
	gone := r.RemoveDecisions(which)
	if len(gone) == 0 {
		return outcome{}, fmt.Errorf("%s; %s", none, list(*r))
	}
	var out outcome
	out.add(report.Withdrawn, gone...)
	out.followed = true
	return out, nil
}

// list lists the decisions in the record.
func list(r inventory.Record) string {
	all := slices.DeleteFunc(slices.Clone(r.Decisions), func(d inventory.Decision) bool { return d.Past() && d.Unread == "" })
	if len(all) == 0 {
		return "the record has no decision: it may be used up already"
	}
	lines := []string{"the record has:"}
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return strings.Join(lines, "\n  ")
}

// checkRecorded refuses a cluster that the record does not know, and names the nearest one.
func checkRecorded(r inventory.Record, name api.ClusterName) error {
	if _, known := r.Clusters[name]; known {
		return nil
	}
	var names []string
	for _, n := range slices.Sorted(maps.Keys(r.Clusters)) {
		if names = append(names, string(n)); slices.Contains(r.Clusters[n].Names, name) {
			return fmt.Errorf("%s is a second name of cluster %s: use that name", name, n)
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("the record has no cluster %s: linkwright has not written to any cluster yet", name)
	}
	recorded := func(p api.Pair) bool {
		return slices.Contains(names, string(p.Source)) && slices.Contains(names, string(p.Target))
	}
	hint := cli.DidYouMeanLink(string(name), recorded)
	if near := api.DidYouMean(string(name), names); hint == "" && near != "" {
		hint = " (" + near + ")"
	}
	return fmt.Errorf("the record has no cluster %s%s: linkwright wrote only to %s", name, hint, strings.Join(names, ", "))
}

// command is how the same command is given again with other words.
func (d *deciding) command(words ...string) string {
	words = append([]string{cli.Program()}, words...)
	if d.management.Owner != object.DefaultOwner {
		words = append(words, "--owner", d.management.Owner)
	}
	if ns := d.management.Namespace; ns != "" && ns != cli.DefaultNamespace {
		words = append(words, "--namespace", ns)
	}
	return strings.Join(words, " ")
}

package main

import (
	"errors"
	"strings"
	"testing"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/plan"
	"github.com/linkwright/linkwright/sync/report"
)

// A link whose credential cannot be rendered can be adopted, and the next sync writes nothing of it: that is shown with its reason, once for each end.
func TestAdoptionShowsBlocks(t *testing.T) {
	link := api.Pair{Source: "west", Target: "east"}
	end := object.End{Cluster: "west", Link: link}
	account := object.Key{Kind: "ServiceAccount", Name: "controller-east"}
	p := &proof{
		adoptions: []object.Change{{End: end, Action: object.Adopt, Key: account}, {End: end, Action: object.Adopt, Key: object.Key{Kind: "Service", Name: "probe-east"}}},
		next:      map[api.ClusterName]report.ClusterDiff{"west": {Name: "west"}},
		blocked:   map[object.End]*object.Reason{},
	}
	why := object.Because(reason.APIServerAddressInvalid, "other clusters cannot use the address https://127.0.0.1:6443: declare spec.apiServer")
	before := plan.Step{Rows: []plan.Row{{End: end, Phase: plan.Denied, Why: object.Because(reason.PrunePolicy, "earlier")}}}
	p.block([]plan.Step{before, {Rows: []plan.Row{
		{End: end, Phase: plan.Blocked, Why: why},
		{End: object.End{Cluster: "east", Link: link}, Phase: plan.Ready},
		{End: object.End{Cluster: "west", Link: api.Pair{Source: "west", Target: "north"}}, Phase: plan.Blocked, Why: why},
	}}}, map[api.Pair]bool{link: true})
	var out strings.Builder
	if err := p.write(&out); err != nil {
		t.Fatal(err)
	}
	if strings.Count(out.String(), "cannot write this end: APIServerAddressInvalid: "+why.Message) != 1 || strings.Count(out.String(), "next sync   nothing, because this end is blocked") != 2 {
		t.Errorf("shown is\n%s", out.String())
	}
	if exit, ok := errors.AsType[cli.Exit](p.verdict()); len(p.blocked) != 1 || !ok || exit.Code != cli.ExitPartial {
		t.Errorf("blocked: %v, exit %v", p.blocked, exit)
	}
}

// A Link's exclude lists are a change of their own. The reason of both parts is that of the change.
func TestExcludes(t *testing.T) {
	od := report.ObjectDiff{
		Action: object.Update, Key: object.Key{Kind: "Link", Name: "east"}, Why: object.Reason{Code: reason.Declared, Message: "as declared"},
		Before: object.NewBody([]byte(`{"spec":{"gatewayPort":"4143"}}`)), After: object.NewBody([]byte(`{"spec":{"excludedLabels":["a"],"gatewayPort":"4144"}}`)),
	}
	got := excludes(od)
	if len(got) != 2 || got[0].Why != od.Why || got[1].Why.Code != reason.Declared || !strings.HasPrefix(got[1].Why.Message, "exclude lists: ") {
		t.Errorf("two changes, both as declared: %+v", got)
	}
}

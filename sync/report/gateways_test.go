package report

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/object/reason"
)

func TestGatewayList(t *testing.T) {
	o := recordedNow()
	for i, m := range []*Mirrors{
		{Services: 3, Serving: 2, NotReady: 1},
		nil,
		{Services: 2, NotReady: 2},
		{Services: 1},
		{Hidden: object.Because(reason.Forbidden, "linkwright may not read Services")},
	} {
		o.Links[i].Mirrors = m
	}
	o.Links = append(o.Links, RecordedLink{Pair: link("west", "pole"), Source: AbsentEnd, Target: LeavingEnd})
	want := `
SOURCE  TARGET  ALIVE    SERVICES  READY  MESSAGE
east    west    True     3         2
north   east    Unknown                   Unreachable: no route[31m; to host
west    east    False    2         0      GatewayNotAlive: no address of its 2 mirrors is ready: linkwright check --repo URL says what to look at
west    north   Unknown  1         0      NoMirrors: no mirror has an address, so nothing shows whether the gateway is alive
west    south   Unknown                   Forbidden: linkwright may not read Services
west    pole    Unknown                   Leaving: cluster west holds nothing of the link any more
`
	if diff := cmp.Diff(strings.TrimPrefix(want, "\n"), writtenAs(t, o.GatewayList().Answer(true), Text)); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
}

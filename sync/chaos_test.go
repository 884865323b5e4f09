package sync_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	gosync "sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/sync/cluster"
	"github.com/linkwright/linkwright/sync/health"
	"github.com/linkwright/linkwright/sync/report"
)

// chaos is a daemon over east and west. East is reached by a file of its own: north is what it will have become.
type chaos struct {
	*daemon
	decl *declaredText
	east string // path of its kubeconfig
}

// TestChaos: what goes wrong with a pair, one thing after the other, on real API servers whose clocks are ten minutes from ours, either
// way. What else is shown elsewhere: trust anchors that are rotated half (TestDaemon), a clock that is put right (TestSkewedClocks),
// clusters that give no answer (TestUnreachableClusters).
func TestChaos(t *testing.T) {
	b := newSkewedEnv(t, names, map[string]time.Duration{"east": apart, "west": -apart})
	c := &chaos{&daemon{clusterEnv: b}, &declaredText{interval: "1s"}, filepath.Join(t.TempDir(), "kubeconfig")}
	c.leads("east")
	c.decl.set(c.declared("east"))
	b.clean(c.loop(c.decl, agent), 4)
	b.mirrored("west", "web-of-east-east")
	part := func(name string, f func()) {
		defer func() { b.t = t }()
		if !t.Run(name, func(t *testing.T) { b.t = t; f() }) {
			t.FailNow() // each begins where the one before ended
		}
	}
	stop := func() {}
	defer func() { stop() }()
	part("a token ended while linkwright was down", func() { stop = c.ended() })
	flaps := time.Now()
	part("a gateway's address flaps", c.flaps)
	part("another CA", c.anotherCA)
	part("the last address is followed", func() { c.settles(flaps) })
	stop()
	part("the destination's store is empty", func() { stop = c.emptied() })
	part("rebuilt under the same name", func() { stop = c.rebuilt(stop) })
}

// apart is how far clocks are from ours.
const apart = 10 * time.Minute

// leads has east's kubeconfig lead to a cluster.
func (c *chaos) leads(to string) {
	c.t.Helper()
	raw, err := os.ReadFile(c.Cluster(to).Kubeconfig)
	if err == nil {
		err = os.WriteFile(c.east+".new", raw, 0o600)
	}
	if err == nil {
		err = os.Rename(c.east+".new", c.east)
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// declared links east and west both ways; east's API server is that of a cluster.
func (c *chaos) declared(at string) string {
	doc := ""
	for name, of := range map[string][2]string{
		"east": {c.east, c.Cluster(at).Config.Host}, "west": {c.Cluster("west").Kubeconfig, c.Cluster("west").Config.Host},
	} {
		doc += fmt.Sprintf("apiVersion: linkwright.dev/v1alpha1\nkind: Cluster\nmetadata: {name: %s}\nspec: {access: {kubeconfig: {path: %s}}, apiServer: '%s'}\n---\n",
			name, of[0], of[1])
	}
	return doc + linkWith("west", "east", bound+federated) + link("east", "west")
}

// begun starts a daemon, as a process that remembers nothing.
func (c *chaos) begun(accepted map[api.ClusterName]string) (stop func()) {
	c.t.Helper()
	l := c.loop(c.decl, agent)
	l.Changes = l.Clusters.(*openClusters).registry //nolint:forcetypeassert // the bed's own
	l.Verifier, l.Accepted = cluster.Verifier{UserAgent: trier}, accepted
	return c.begin(l)
}

// trier is who tries credentials.
const trier = "trial-of-credentials"

func (c *chaos) until(what string, f func() bool) {
	c.t.Helper()
	c.eventually(what, func(context.Context) (bool, error) { return f(), nil })
}

// hasStatus waits for a report that says just this of a link; empty: that it is in place.
func (c *chaos) hasStatus(source, target, code string) {
	c.t.Helper()
	c.until(fmt.Sprintf("%s→%s stands with %q", source, target, code), func() bool { return c.reportContains(source, target) == code })
}

// ended ages the token of west→east while no linkwright runs, until it has ended. The next one renews it, and has west's destination
// controller told.
func (c *chaos) ended() (stop func()) {
	was := c.token()
	old := c.signed("east", was.token, -300*time.Hour)
	for _, ns := range []string{testbed.Multicluster, testbed.ControlPlane} {
		c.rewritten(ns, was.token, old)
	}
	c.accepted(old, false)
	c.accepted(was.token, true)
	stop = c.begun(nil)
	c.until("another token", func() bool { return c.token().token != old })
	c.hasStatus("west", "east", "")
	now := c.token()
	if now.secret.Name != "linkwright.west-2" || now.exp < time.Now().Add(100*time.Hour).Unix() {
		c.t.Errorf("the next token is bound to %s and ends at %d", now.secret.Name, now.exp)
	}
	c.accepted(now.token, true)
	if late := time.Until(time.Unix(now.exp, 0)) - 200*time.Hour; late < apart-time.Minute || late > apart {
		c.t.Errorf("east's clock is ahead by %s only: this test shows nothing", late)
	}
	c.until("the destination controller is told", func() bool { return strings.HasSuffix(c.reported(), ".1") })
	c.until("it has loaded the token", func() bool { return c.stage("west", "east", health.CredentialsLoaded) == health.Passed })
	if err := testbed.Export(c.t.Context(), c.Cluster("east").Config, testbed.Exported{Namespace: "default", Name: "late"}); err != nil {
		c.t.Fatal(err)
	}
	c.mirrored("west", "late-east")
	return stop
}

// stage returns how a stage of a link stands in the last report.
func (c *chaos) stage(source, target string, stage health.Stage) health.Result {
	_, last := c.syncs()
	for _, l := range report.Links(last) {
		if string(l.Pair.Source) != source || string(l.Pair.Target) != target {
			continue
		}
		for _, v := range l.Source.Health {
			if v.Stage == stage {
				return v.Result
			}
		}
	}
	return 0
}

// reported returns what west's destination controller was told last.
func (c *chaos) reported() string {
	c.t.Helper()
	d, err := c.client("west").AppsV1().Deployments(testbed.ControlPlane).Get(c.t.Context(), "linkerd-destination", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return d.Spec.Template.Annotations["linkwright.dev/credentials"]
}

// lastAddress is where west's gateway is in the end.
const lastAddress = "192.0.2.64"

// flaps gives west's gateway another address each second: its link follows the first at once, and then waits.
func (c *chaos) flaps() {
	before, first := len(c.followed()), "192.0.2.60"
	for i := range 5 {
		if err := testbed.SetGateway(c.t.Context(), c.Cluster("west").Config, fmt.Sprintf("192.0.2.%d", 60+i)); err != nil {
			c.t.Fatal(err)
		}
		if i == 0 { // how soon is measured elsewhere: here all else is busy
			c.until("the first address is followed", func() bool { return c.linkField("east", "west", "gatewayAddress") == first })
		}
		time.Sleep(time.Second)
	}
	if got := c.linkField("east", "west", "gatewayAddress"); got != first {
		c.t.Errorf("the link follows %s, want the first", got)
	}
	if sent := c.followed()[before:]; len(sent) != 1 {
		c.t.Errorf("%d writes of the Link while the address flaps: %+v", len(sent), sent)
	}
	c.until("it says that it waits, unless it is through", func() bool { // a busy machine plans rarely
		return c.reportContains("east", "west") == "RateLimited" || c.linkField("east", "west", "gatewayAddress") == lastAddress
	})
}

// settles holds that one more write follows, not before its time.
func (c *chaos) settles(since time.Time) {
	c.until("the last address is followed", func() bool { return c.linkField("east", "west", "gatewayAddress") == lastAddress })
	sent := slices.DeleteFunc(c.followed(), func(r testbed.Request) bool { return r.Received.Before(since) })
	if len(sent) != 2 || sent[1].Received.Sub(sent[0].Received) < 30*time.Second {
		c.t.Errorf("writes of the Link: %+v, want two, 30 s apart", sent)
	}
	c.hasStatus("east", "west", "")
}

// followed returns the writes of east's Link to west.
func (c *chaos) followed() []testbed.Request {
	c.t.Helper()
	return slices.DeleteFunc(c.writes("east"), func(r testbed.Request) bool { return r.Resource != "links" || r.Name != "west" })
}

// anotherCA has east tell another CA. One by which its API server is none reaches nobody; one by which it is, too, is written once it
// was tried, and Linkerd's mirror is told.
func (c *chaos) anotherCA() {
	controllers := c.Cluster("east").PIDs["kube-controller-manager"]
	if err := syscall.Kill(controllers, syscall.SIGSTOP); err != nil { // it would put its own back
		c.t.Fatal(err)
	}
	resume := gosync.OnceFunc(func() {
		if err := syscall.Kill(controllers, syscall.SIGCONT); err != nil {
			c.t.Error(err)
		}
	})
	defer resume()
	other, err := testbed.NewTrustAnchors()
	if err != nil {
		c.t.Fatal(err)
	}
	was, own, announced := c.config(), string(c.Cluster("east").Config.CAData), c.announced()
	before := c.asked("west")
	c.certify(other)
	c.hasStatus("west", "east", "CredentialNotAccepted")
	noted := func(sent string) bool { return sent == "patch configmaps linkwright.west.east" } // Ready: False, once that lasts
	if sent := slices.DeleteFunc(c.sent("west", before), noted); len(sent) > 0 || c.config() != was {
		c.t.Errorf("with a CA that does not fit it sent %q", sent)
	}
	begun := time.Now()
	c.certify(own + other)
	c.until("the CA is written", func() bool { return c.config() != was })
	c.hasStatus("west", "east", "CredentialNotLoaded") // the destination controller started anew some seconds ago
	c.triedBefore(begun)
	if now := c.announced(); now == announced {
		c.t.Errorf("the mirror was told of nothing: %s", now)
	}
	resume()
	c.until("east's own CA is back", func() bool { return c.config() == was })
}

// certify writes what east's API server is to be verified by.
func (c *chaos) certify(ca string) {
	c.t.Helper()
	patch, err := json.Marshal(map[string]any{"data": map[string]string{"ca.crt": ca}})
	if err == nil {
		_, err = c.client("east").CoreV1().ConfigMaps("kube-system").Patch(c.t.Context(), "kube-root-ca.crt", types.MergePatchType, patch, metav1.PatchOptions{})
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// triedBefore holds that since then west's account was tried in east before west's Secrets were written.
func (c *chaos) triedBefore(since time.Time) {
	c.t.Helper()
	late := func(r testbed.Request) bool { return r.Received.Before(since) }
	tried, err := c.Cluster("east").Requests(trier)
	if err != nil {
		c.t.Fatal(err)
	}
	tried = slices.DeleteFunc(tried, func(r testbed.Request) bool {
		return late(r) || r.User != "system:serviceaccount:linkwright-access:linkwright.west"
	})
	wrote := slices.DeleteFunc(c.writes("west"), func(r testbed.Request) bool { return late(r) || r.Resource != "secrets" })
	if len(tried) == 0 || len(wrote) != 2 || !tried[0].Received.Before(wrote[0].Received) {
		c.t.Errorf("tried %+v, wrote %+v", tried, wrote)
	}
}

// emptied deletes what west's destination controller reads. It is made again, which tells the controller, and starts nothing again.
func (c *chaos) emptied() (stop func()) {
	reported := c.reported()
	secrets := c.client("west").CoreV1().Secrets(testbed.ControlPlane)
	if err := secrets.Delete(c.t.Context(), "cluster-credentials-east", metav1.DeleteOptions{}); err != nil {
		c.t.Fatal(err)
	}
	stop = c.begun(nil)
	c.more(1, 0)
	c.hasStatus("west", "east", "")
	s, err := secrets.Get(c.t.Context(), "cluster-credentials-east", metav1.GetOptions{})
	if err != nil || !strings.HasSuffix(s.Annotations["linkwright.dev/credential"], ".0") || s.Labels["multicluster.linkerd.io/cluster-name"] != "east" {
		c.t.Errorf("the Secret that was made again: %v, %v, %v", s.Labels, s.Annotations, err)
	}
	if now := c.reported(); now != reported {
		c.t.Errorf("the destination controller was told %s, after %s", now, reported)
	}
	return stop
}

// rebuilt has another cluster answer as east: nothing is written anywhere until people accept it.
func (c *chaos) rebuilt(stop func()) func() {
	before, former := len(c.writes()), len(c.writes("east"))
	c.leads("north")
	c.until("east is another cluster", func() bool { return c.refusal("east") == "ClusterChanged" })
	c.hasStatus("west", "east", "ClusterChanged")
	c.more(2, 1)
	if sent := c.writes()[before:]; len(sent) > 0 {
		c.t.Errorf("to or because of a cluster that nobody accepted it sent %+v", sent)
	}
	stop()
	c.decl.set(c.declared("north"))
	stop = c.begun(map[api.ClusterName]string{"east": c.uid("north")})
	c.mirrored("west", "web-of-north-east")
	c.mirrored("north", "web-of-west-west")
	c.hasStatus("west", "east", "CredentialNotLoaded")
	c.hasStatus("east", "west", "")
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(c.config()))
	if err != nil || config.Host != c.Cluster("north").Config.Host {
		c.t.Errorf("west logs in to %v, %v", config, err)
	}
	if sent := c.writes("east")[former:]; len(sent) > 0 {
		c.t.Errorf("the former cluster got %+v", sent)
	}
	return stop
}

// refusal returns why nothing is written to a cluster.
func (c *chaos) refusal(name api.ClusterName) string {
	_, last := c.syncs()
	i := slices.IndexFunc(last.Clusters, func(row report.Cluster) bool { return row.Name == name })
	if i < 0 || last.Clusters[i].Step.Denied == nil {
		return ""
	}
	return string(last.Clusters[i].Step.Denied.Code)
}

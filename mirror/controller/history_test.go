package controller_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/hack/testbed"
)

// history is a random history of two links to one target. Exports come, change and go; users have Services with the names of mirrors; mirrors are
// edited and deleted; processes for all links and for single ones come and go; credentials break; gateways die; Links are drained and made anew.
type history struct {
	*bed

	random    *rand.Rand
	kubecfg   []byte
	links     []*bed // of the same target by two names
	exports   map[string]export
	foreign   map[string]string // resourceVersion by name
	processes map[string]func() // running, by name
	deleted   map[string]bool   // Links that are
	drained   map[string]bool
	starts    int
	log       []string
}

// export is a Service of the target.
type export struct {
	mode   string // "gateway", "discovery" or none
	member bool
	port   int32
}

// TestHistory plays random histories, and then compares what is there at rest with what exports and selectors say.
func TestHistory(t *testing.T) {
	b := newBed(t)
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	h := &history{
		bed: b, random: rand.New(rand.NewPCG(seed, 1)), //nolint:gosec // of a test
		exports: map[string]export{}, foreign: map[string]string{}, processes: map[string]func(){}, deleted: map[string]bool{}, drained: map[string]bool{},
	}
	var err error
	h.kubecfg, err = os.ReadFile(planes.Cluster("east").Kubeconfig)
	b.ok(nil, err)
	second := *b
	second.link += "-2"
	second.ok(b.west.CoreV1().Services(testbed.Multicluster).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "probe-" + second.link}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "mc-probe", Port: 4191}}},
	}, metav1.CreateOptions{}))
	h.links = []*bed{b, &second}
	for _, l := range h.links {
		l.putSecret(h.kubecfg)
		h.createLink(l)
	}
	for range 4 {
		for range 25 {
			h.step()
		}
		h.settle()
		h.eventually(h.check)
	}
}

// createLink creates a Link with selectors that both links share.
func (h *history) createLink(l *bed) {
	l.createLink(func(spec map[string]any) {
		maps.Copy(spec, h.selectors())
	})
}

func (h *history) selectors() map[string]any {
	return map[string]any{
		"selector":                 matching(testbed.ExportedLabel, h.link),
		"remoteDiscoverySelector":  matching(testbed.ExportedLabel, "discovery-"+h.link),
		"federatedServiceSelector": matching(testbed.FederatedLabel, h.link),
	}
}

// step does one thing at random.
func (h *history) step() {
	steps := []struct {
		weight int
		what   string
		do     func() string
	}{
		{8, "export", h.changeExport},
		{2, "foreign", h.changeForeign},
		{2, "vandal", h.vandalize},
		{3, "process", h.changeProcess},
		{1, "credential", h.changeCredential},
		{1, "gateway", func() string { dead := h.random.IntN(2) == 0; h.gateway.set(dead); return fmt.Sprint("dead ", dead) }},
		{1, "link", h.changeLink},
	}
	n := h.random.IntN(18)
	for _, s := range steps {
		if n -= s.weight; n < 0 {
			h.log = append(h.log, s.what+": "+s.do())
			return
		}
	}
}

func (h *history) name() string { return fmt.Sprint("web", h.random.IntN(5)) }

func (h *history) changeExport() string {
	name := h.name()
	_, exists := h.exports[name]
	if exists && h.random.IntN(3) == 0 {
		h.ok(nil, h.east.CoreV1().Services(h.ns).Delete(h.Context(), name, metav1.DeleteOptions{}))
		delete(h.exports, name)
		return name + " deleted"
	}
	e := export{mode: []string{"", "gateway", "gateway", "discovery"}[h.random.IntN(4)], member: h.random.IntN(3) == 0, port: 80 + h.random.Int32N(3)}
	labels := map[string]string{}
	switch e.mode {
	case "gateway":
		labels = h.exported()
	case "discovery":
		labels = h.discovered()
	}
	if e.member {
		labels[testbed.FederatedLabel] = h.link
	}
	meta := metav1.ObjectMeta{Name: name, Labels: labels}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		Selector: map[string]string{"app": name}, Ports: []corev1.ServicePort{{Name: "http", Port: e.port}},
	}}
	if exists {
		live, err := h.east.CoreV1().Services(h.ns).Get(h.Context(), name, metav1.GetOptions{})
		h.ok(nil, err)
		live.Labels, live.Spec.Ports = labels, service.Spec.Ports
		h.ok(h.east.CoreV1().Services(h.ns).Update(h.Context(), live, metav1.UpdateOptions{}))
		h.ok(h.east.CoreV1().Endpoints(h.ns).Update(h.Context(), ready(meta), metav1.UpdateOptions{}))
	} else {
		h.ok(h.east.CoreV1().Services(h.ns).Create(h.Context(), service, metav1.CreateOptions{}))
		h.ok(h.east.CoreV1().Endpoints(h.ns).Create(h.Context(), ready(meta), metav1.CreateOptions{}))
	}
	h.exports[name] = e
	return fmt.Sprintf("%s %+v", name, e)
}

// changeForeign creates a user's Service with the name of a mirror, unless that is taken, or deletes it.
func (h *history) changeForeign() string {
	name := h.name() + "-" + h.links[h.random.IntN(2)].link
	if _, ok := h.foreign[name]; ok {
		h.ok(nil, h.west.CoreV1().Services(h.ns).Delete(h.Context(), name, metav1.DeleteOptions{}))
		delete(h.foreign, name)
		return name + " deleted"
	}
	mine, err := h.west.CoreV1().Services(h.ns).Create(h.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": "mine"}}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 9}}},
	}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return name + " is a mirror"
	}
	h.ok(nil, err)
	h.foreign[name] = mine.ResourceVersion
	return name + " created"
}

// vandalize edits or deletes something that the mirror wrote.
func (h *history) vandalize() string {
	all, err := h.west.CoreV1().Services(h.ns).List(h.Context(), metav1.ListOptions{LabelSelector: "mirror.linkerd.io/mirrored-service=true"})
	h.ok(nil, err)
	if len(all.Items) == 0 {
		return "nothing"
	}
	s := all.Items[h.random.IntN(len(all.Items))]
	switch h.random.IntN(3) {
	case 0:
		err = h.west.CoreV1().Services(h.ns).Delete(h.Context(), s.Name, metav1.DeleteOptions{})
	case 1:
		s.Spec.Ports[0].Port = 1234
		_, err = h.west.CoreV1().Services(h.ns).Update(h.Context(), &s, metav1.UpdateOptions{})
	default:
		err = h.west.CoreV1().Endpoints(h.ns).Delete(h.Context(), s.Name, metav1.DeleteOptions{})
	}
	if err != nil && !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		h.Fatal(err)
	}
	return s.Name
}

// changeProcess starts or stops a process: two for all links, and one for the second link alone.
func (h *history) changeProcess() string {
	name := []string{"all", "standby", "single"}[h.random.IntN(3)]
	if stop, ok := h.processes[name]; ok {
		stop()
		delete(h.processes, name)
		return name + " stopped"
	}
	h.start(name)
	return name + " started"
}

func (h *history) start(name string) {
	h.starts++
	o := h.options(fmt.Sprintf("%s-%s-%d", h.agent, name, h.starts))
	o.Links = []string{h.links[1].link}
	if name != "single" {
		o.Links = append(o.Links, h.link)
	}
	h.processes[name] = h.run(o)
}

func (h *history) changeCredential() string {
	l := h.links[h.random.IntN(2)]
	text := [][]byte{[]byte("none"), bytes.ReplaceAll(h.kubecfg, []byte("127.0.0.1:"), []byte("127.0.0.1:1")), h.kubecfg, append(slices.Clip(h.kubecfg), "\n# again\n"...)}[h.random.IntN(4)]
	l.putSecret(text)
	return fmt.Sprint(l.link, " ", len(text))
}

func (h *history) changeLink() string {
	l := h.links[h.random.IntN(2)]
	switch {
	case h.deleted[l.link]:
		h.createLink(l)
		delete(h.deleted, l.link)
		return l.link + " created"
	case h.drained[l.link]:
		l.editLink(func(spec map[string]any) { maps.Copy(spec, h.selectors()) })
		delete(h.drained, l.link)
		return l.link + " selects again"
	case h.random.IntN(2) == 0:
		h.ok(nil, l.links().Delete(h.Context(), l.link, metav1.DeleteOptions{}))
		h.deleted[l.link] = true
		return l.link + " deleted"
	}
	l.editLink(func(spec map[string]any) {
		for name := range h.selectors() {
			delete(spec, name)
		}
	})
	h.drained[l.link] = true
	return l.link + " drained"
}

// settle ends what keeps mirrors from following: both Links exist, credentials work, and a process runs.
func (h *history) settle() {
	for _, l := range h.links {
		l.putSecret(h.kubecfg)
		if h.deleted[l.link] {
			h.createLink(l)
			delete(h.deleted, l.link)
		}
	}
	if h.processes["all"] == nil {
		h.start("all")
	}
	h.log = append(h.log, "settle")
}

// check compares what is there with what exports and selectors say.
func (h *history) check() error {
	services, err := h.west.CoreV1().Services(h.ns).List(h.Context(), metav1.ListOptions{})
	h.ok(nil, err)
	endpoints, err := h.west.CoreV1().Endpoints(h.ns).List(h.Context(), metav1.ListOptions{})
	h.ok(nil, err)
	got := map[string]string{}
	for _, s := range services.Items {
		got[s.Name] = h.described(s)
	}
	for _, e := range endpoints.Items {
		if _, mine := h.foreign[e.Name]; !mine {
			got["endpoints "+e.Name] = addressesOf(e)
		}
	}
	var wrong []error
	desired := h.desired()
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if got[name] != desired[name] {
			wrong = append(wrong, fmt.Errorf("%s: got %q, want %q", name, got[name], desired[name]))
		}
		delete(desired, name)
	}
	for name, want := range desired {
		wrong = append(wrong, fmt.Errorf("%s is missing, want %q", name, want))
	}
	if len(wrong) > 0 {
		wrong = append(wrong, fmt.Errorf("history:\n%s", strings.Join(h.log, "\n")))
	}
	return errors.Join(wrong...)
}

func (h *history) described(s corev1.Service) string {
	if s.Labels["app"] == "mine" {
		return "foreign " + s.ResourceVersion
	}
	members := strings.Split(s.Annotations["multicluster.linkerd.io/remote-discovery"], ",")
	slices.Sort(members)
	return fmt.Sprint(s.Spec.Ports[0].Port, " ", s.Labels["multicluster.linkerd.io/remote-discovery"], " ", strings.Join(members, ","))
}

func addressesOf(e corev1.Endpoints) string { //nolint:staticcheck // what Linkerd's clients read
	if len(e.Subsets) != 1 {
		return "none"
	}
	return fmt.Sprint("ready ", len(e.Subsets[0].Addresses), " not ready ", len(e.Subsets[0].NotReadyAddresses))
}

// desired is what the source is to hold, by simpler rules than those of package mirror.
func (h *history) desired() map[string]string {
	out := map[string]string{}
	for name, version := range h.foreign {
		out[name] = "foreign " + version
	}
	for name, e := range h.exports {
		var members []string
		for _, l := range h.links {
			if h.drained[l.link] {
				continue
			}
			members = append(members, name+"@"+l.link)
			h.desireMirror(out, name+"-"+l.link, l.link, e)
		}
		if e.member && len(members) > 0 {
			slices.Sort(members)
			out[name+"-federated"] = fmt.Sprint(e.port, "  ", strings.Join(members, ","))
		}
	}
	return out
}

// desireMirror adds what one link makes of an export.
func (h *history) desireMirror(out map[string]string, mirror, link string, e export) {
	if _, taken := h.foreign[mirror]; taken {
		return
	}
	switch e.mode {
	case "discovery":
		out[mirror] = fmt.Sprint(e.port, " ", link, " ")
	case "gateway":
		out[mirror] = fmt.Sprint(e.port, "  ")
		out["endpoints "+mirror] = "ready 1 not ready 0"
		if h.gateway.isDead() {
			out["endpoints "+mirror] = "ready 0 not ready 1"
		}
	}
}

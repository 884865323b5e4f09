package controller_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"

	"github.com/linkwright/linkwright/hack/testbed"
)

// TestMirrors: what is exported appears in the source by Linkerd's names, and goes with its export.
func TestMirrors(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	b.run(b.options(b.agent))
	b.export("web", b.exported())
	b.export("far", b.discovered())
	b.export("both", b.member())
	b.mirrored("web-"+b.link, true)
	b.eventually(func() error {
		far, err := b.service("far-" + b.link)
		if err == nil && far.Labels["multicluster.linkerd.io/remote-discovery"] != b.link {
			err = fmt.Errorf("labels: %v", far.Labels)
		}
		return err
	})
	b.eventually(func() error {
		both, err := b.service("both-federated")
		if err == nil && both.Annotations["multicluster.linkerd.io/remote-discovery"] != "both@"+b.link {
			err = fmt.Errorf("annotations: %v", both.Annotations)
		}
		return err
	})
	b.condition("mirrorServices", "web", "True Mirrored")
	b.condition("mirrorServices", "far", "True Mirrored")
	b.condition("federatedServices", "both", "True Mirrored")
	probe, err := b.west.CoreV1().Endpoints(testbed.Multicluster).Get(t.Context(), "probe-"+b.link, metav1.GetOptions{})
	if err != nil || len(probe.Subsets) != 1 || probe.Subsets[0].Ports[0].Port != 4191 {
		t.Errorf("endpoints of the probe: %v, %v", probe, err)
	}

	web, err := b.east.CoreV1().Services(b.ns).Get(t.Context(), "web", metav1.GetOptions{})
	b.ok(nil, err)
	web.Spec.Ports[0].Port = 81
	web, err = b.east.CoreV1().Services(b.ns).Update(t.Context(), web, metav1.UpdateOptions{})
	b.ok(nil, err)
	b.eventually(func() error {
		mirror, err := b.service("web-" + b.link)
		if err == nil && mirror.Spec.Ports[0].Port != 81 {
			err = fmt.Errorf("ports: %v", mirror.Spec.Ports)
		}
		return err
	})
	web.Labels = nil
	b.ok(b.east.CoreV1().Services(b.ns).Update(t.Context(), web, metav1.UpdateOptions{}))
	b.gone("web-" + b.link)
	b.condition("mirrorServices", "web", "")
	for _, name := range []string{"far", "both"} {
		b.ok(nil, b.east.CoreV1().Services(b.ns).Delete(t.Context(), name, metav1.DeleteOptions{}))
	}
	b.gone("far-" + b.link)
	b.gone("both-federated")
}

// TestForeign: a Service of somebody else with the name of a mirror is left alone. The status and an Event on the exported Service say so. Once it
// is gone, the mirror takes its place; and a mirror that somebody edits or deletes comes back.
func TestForeign(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	mine := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web-" + b.link}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 9}}}}
	mine, err := b.west.CoreV1().Services(b.ns).Create(t.Context(), mine, metav1.CreateOptions{})
	b.ok(nil, err)
	b.run(b.options(b.agent))
	b.export("web", b.exported())
	b.condition("mirrorServices", "web", "False ObjectExists")
	once := func() error {
		// The API server itself has Events on Services, when it repairs the list of cluster IPs.
		events, err := b.east.CoreV1().Events(b.ns).List(t.Context(), metav1.ListOptions{FieldSelector: "reason=ServiceMirroringSkipped"})
		if err == nil && (len(events.Items) != 1 || events.Items[0].Source.Component != "linkerd-service-mirror-"+b.link || events.Items[0].Count > 1) {
			err = fmt.Errorf("events, want one: %+v", events.Items)
		}
		return err
	}
	b.eventually(once)
	if still, err := b.service(mine.Name); err != nil || still.ResourceVersion != mine.ResourceVersion {
		t.Errorf("the user's Service: %v, %v, want it unchanged", still, err)
	}
	b.ok(nil, b.west.CoreV1().Services(b.ns).Delete(t.Context(), mine.Name, metav1.DeleteOptions{}))
	b.mirrored(mine.Name, true)
	b.condition("mirrorServices", "web", "True Mirrored")

	b.ok(nil, b.west.CoreV1().Services(b.ns).Delete(t.Context(), mine.Name, metav1.DeleteOptions{}))
	b.mirrored(mine.Name, true)
	edited, err := b.service(mine.Name)
	b.ok(nil, err)
	edited.Spec.Ports[0].Port = 7
	b.ok(b.west.CoreV1().Services(b.ns).Update(t.Context(), edited, metav1.UpdateOptions{}))
	b.eventually(func() error {
		back, err := b.service(mine.Name)
		if err == nil && back.Spec.Ports[0].Port != 80 {
			err = fmt.Errorf("ports: %v", back.Spec.Ports)
		}
		return err
	})
	b.ok(nil, once())
}

// TestIdle: if nothing changes, nothing is asked and nothing is written. The same holds for a new process that finds everything in place.
func TestIdle(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	stop := b.run(b.options(b.agent))
	for i := range 20 {
		b.export(fmt.Sprint("web", i), b.exported())
	}
	for i := range 20 {
		b.mirrored(fmt.Sprintf("web%d-%s", i, b.link), true)
		b.condition("mirrorServices", fmt.Sprint("web", i), "True Mirrored")
	}
	b.eventually(func() error {
		since := time.Now()
		time.Sleep(2 * time.Second)
		if got := append(b.requests("west", b.agent, since), b.requests("east", "linkwright-mirror/"+b.link, since)...); len(got) > 0 {
			return fmt.Errorf("requests in 2 s in which nothing changed: %v", got)
		}
		return nil
	})
	stop()
	since := time.Now()
	b.run(b.options(b.agent + "-again"))
	b.export("last", b.exported())
	b.mirrored("last-"+b.link, true)
	b.condition("mirrorServices", "last", "True Mirrored")
	for _, w := range b.written(b.agent+"-again", since) {
		if !strings.HasSuffix(w, " last-"+b.link) && w != "create services " && w != "create endpoints " && w != "patch links "+b.link {
			t.Errorf("a new process wrote %s, which was in place", w)
		}
	}
	if n := len(b.written(b.agent+"-again", since)); n > 6 { // four, and a write that a slow server made fail
		t.Errorf("a new process made %d writes for one new mirror: %v", n, b.written(b.agent+"-again", since))
	}
}

// TestWritesOnce: many exports at once are two writes each, and few of the status.
func TestWritesOnce(t *testing.T) {
	b := newBed(t)
	for i := range 100 {
		b.export(fmt.Sprint("web", i), b.exported())
	}
	b.createLink(nil)
	begun := time.Now()
	b.run(b.options(b.agent))
	for i := range 100 {
		b.condition("mirrorServices", fmt.Sprint("web", i), "True Mirrored")
	}
	t.Logf("100 mirrors after %v", time.Since(begun).Round(time.Millisecond))
	of := map[string]int{}
	for _, w := range b.written(b.agent, begun) {
		verb, rest, _ := strings.Cut(w, " ")
		kind, _, _ := strings.Cut(rest, " ")
		of[verb+" "+kind]++
	}
	const again = 10 // writes that a slow server answered too late
	if of["create services"] > 100+again || of["create endpoints"] > 101+again || of["update services"]+of["update endpoints"] > 1+again || of["patch links"] > 3+int(time.Since(begun)/(400*time.Millisecond)) {
		t.Errorf("writes for 100 mirrors: %v", of)
	}
}

// TestWithoutSelector: the Endpoints of a Service that selects no pods have no labels, and are followed nevertheless.
func TestWithoutSelector(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	b.run(b.options(b.agent))
	b.ok(b.east.CoreV1().Services(b.ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "db", Labels: b.exported()}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "sql", Port: 5432}}},
	}, metav1.CreateOptions{}))
	b.eventually(func() error {
		e, err := b.west.CoreV1().Endpoints(b.ns).Get(t.Context(), "db-"+b.link, metav1.GetOptions{})
		if err == nil && len(e.Subsets) > 0 {
			err = fmt.Errorf("addresses of a Service that has none: %v", e.Subsets)
		}
		return err
	})
	b.ok(b.east.CoreV1().Endpoints(b.ns).Create(t.Context(), ready(metav1.ObjectMeta{Name: "db"}), metav1.CreateOptions{}))
	b.mirrored("db-"+b.link, true)
	b.ok(nil, b.east.CoreV1().Endpoints(b.ns).Delete(t.Context(), "db", metav1.DeleteOptions{}))
	b.eventually(func() error {
		e, err := b.west.CoreV1().Endpoints(b.ns).Get(t.Context(), "db-"+b.link, metav1.GetOptions{})
		if err == nil && len(e.Subsets) > 0 {
			err = errors.New("the mirror has addresses")
		}
		return err
	})
}

// TestNamespace: a Service whose namespace does not exist is mirrored once it does.
func TestNamespace(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	b.run(b.options(b.agent))
	b.ok(b.east.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "late-" + b.ns}}, metav1.CreateOptions{}))
	b.ns = "late-" + b.ns
	b.export("web", b.exported())
	b.condition("mirrorServices", "web", "False MissingNamespace")
	b.ok(b.west.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: b.ns}}, metav1.CreateOptions{}))
	b.mirrored("web-"+b.link, true)
	b.condition("mirrorServices", "web", "True Mirrored")
}

// TestCreateNamespaces: a namespace that is missing is created, if that is asked for.
func TestCreateNamespaces(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	o := b.options(b.agent)
	o.CreateNamespaces = true
	b.run(o)
	b.ok(b.east.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "new-" + b.ns}}, metav1.CreateOptions{}))
	b.ns = "new-" + b.ns
	b.export("web", b.exported())
	b.mirrored("web-"+b.link, true)
}

// exportHeadless exports the headless Service db, whose one address has the name db-0, and waits until that has a mirror.
func (b *bed) exportHeadless() {
	b.Helper()
	meta := metav1.ObjectMeta{Name: "db", Labels: b.exported()}
	b.ok(b.east.CoreV1().Services(b.ns).Create(b.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Selector: map[string]string{"app": "db"}, Ports: []corev1.ServicePort{{Name: "sql", Port: 5432}},
	}}, metav1.CreateOptions{}))
	e := ready(meta)
	e.Subsets[0].Addresses[0].Hostname = "db-0"
	b.ok(b.east.CoreV1().Endpoints(b.ns).Create(b.Context(), e, metav1.CreateOptions{}))
	b.mirrored("db-0-"+b.link, true)
}

// TestHeadless: each named address of a headless Service has a Service of its own, whose cluster IP the mirror has.
func TestHeadless(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	o := b.options(b.agent)
	o.Headless = []string{b.link}
	b.run(o)
	b.exportHeadless()
	b.eventually(func() error {
		one, err := b.service("db-0-" + b.link)
		if err != nil {
			return err
		}
		root, err := b.west.CoreV1().Endpoints(b.ns).Get(t.Context(), "db-"+b.link, metav1.GetOptions{})
		if err == nil && (len(root.Subsets) != 1 || root.Subsets[0].Addresses[0].IP != one.Spec.ClusterIP || root.Subsets[0].Addresses[0].Hostname != "db-0") {
			err = fmt.Errorf("endpoints of the mirror: %v, want %s", root.Subsets, one.Spec.ClusterIP)
		}
		return err
	})
	b.ok(nil, b.east.CoreV1().Services(b.ns).Delete(t.Context(), "db", metav1.DeleteOptions{}))
	b.gone("db-" + b.link)
	b.gone("db-0-" + b.link)
}

// TestSelector: only Links with the label are mirrored. A Link that gets the label may ask for headless Services by its annotation. One that loses it
// keeps its mirrors, for the next controller, and its Lease is released.
func TestSelector(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	o := b.options(b.agent)
	o.Links, o.Headless = nil, nil
	o.Selector = labels.SelectorFromSet(labels.Set{"linkwright.dev/mirror": b.link})
	b.run(o)
	b.export("web", b.exported())
	time.Sleep(time.Second)
	if _, err := b.service("web-" + b.link); err == nil {
		t.Error("a Link without the label is mirrored")
	}
	// In one edit, which the mirror of web shows to be known: a headless Service that is seen before its annotation gets a mirror that is not headless.
	b.labelLink(`{"labels":{"linkwright.dev/mirror":"` + b.link + `"},"annotations":{"linkwright.dev/enable-headless-services":"true"}}`)
	b.mirrored("web-"+b.link, true)
	b.exportHeadless()

	b.labelLink(`{"labels":{"linkwright.dev/mirror":null}}`)
	b.released()
	since := time.Now() // what was under way ended before the Lease was released
	b.export("late", b.exported())
	time.Sleep(time.Second)
	for _, w := range b.written(b.agent, since) {
		if !strings.Contains(w, "leases") {
			t.Errorf("%s, though the Link is another controller's", w)
		}
	}
	b.mirrored("web-"+b.link, true)
}

// labelLink changes the metadata of the Link.
func (b *bed) labelLink(metadata string) {
	b.Helper()
	b.ok(b.links().Patch(b.Context(), b.link, types.MergePatchType, []byte(`{"metadata":`+metadata+`}`), metav1.PatchOptions{}))
}

// released waits until nobody holds the Lease of the link.
func (b *bed) released() {
	b.Helper()
	b.eventually(func() error {
		l, err := b.west.CoordinationV1().Leases(testbed.Multicluster).Get(b.Context(), "service-mirror-write-"+b.link, metav1.GetOptions{})
		if err == nil && l.Spec.HolderIdentity != nil && *l.Spec.HolderIdentity != "" {
			err = fmt.Errorf("the Lease is held by %s", *l.Spec.HolderIdentity)
		}
		return err
	})
}

// TestLocal: the source's own Service is a member of the federated one, unless Linkerd's local mirror runs.
func TestLocal(t *testing.T) {
	b := newBed(t)
	b.createLink(nil)
	now, linkerd, seconds := metav1.NowMicro(), "linkerd-local-service-mirror-1", int32(2)
	leases := b.west.CoordinationV1().Leases(testbed.Multicluster)
	b.ok(leases.Create(t.Context(), &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Name: "local-service-mirror-write"},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &linkerd, LeaseDurationSeconds: &seconds, RenewTime: &now},
	}, metav1.CreateOptions{}))
	o := b.options(b.agent)
	o.Local = true
	b.run(o)
	b.ok(b.west.CoreV1().Services(b.ns).Create(t.Context(), &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "both", Labels: map[string]string{testbed.FederatedLabel: "member"}},
		Spec:       corev1.ServiceSpec{Selector: map[string]string{"app": "both"}, Ports: []corev1.ServicePort{{Name: "http", Port: 8080}}},
	}, metav1.CreateOptions{}))
	b.export("both", b.member())
	members := func() string {
		s, err := b.service("both-federated")
		if err != nil {
			return err.Error()
		}
		return s.Annotations["multicluster.linkerd.io/remote-discovery"] + " " + s.Annotations["multicluster.linkerd.io/local-discovery"]
	}
	b.eventually(func() error {
		if got := members(); got != "both@"+b.link+" " && got != "both@"+b.link+" both" {
			return errors.New(got)
		}
		return nil
	})
	got := members() // before the Lease is read, which Linkerd's local mirror then still holds
	held, err := leases.Get(t.Context(), "local-service-mirror-write", metav1.GetOptions{})
	b.ok(nil, err)
	if held.Spec.HolderIdentity != nil && *held.Spec.HolderIdentity == linkerd && strings.HasSuffix(got, " both") {
		t.Errorf("members while Linkerd's local mirror runs: %s", got)
	}
	b.eventually(func() error {
		if got := members(); got != "both@"+b.link+" both" {
			return errors.New(got)
		}
		return nil
	})
	b.ok(nil, b.west.CoreV1().Services(b.ns).Delete(t.Context(), "both", metav1.DeleteOptions{}))
	b.eventually(func() error {
		if got := members(); got != "both@"+b.link+" " {
			return errors.New(got)
		}
		return nil
	})
}

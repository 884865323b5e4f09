package pages

import (
	"context"
	"encoding/base64"
	"errors"
	"net"
	"regexp"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/linkwright/linkwright/hack/testbed"
)

// fleet is what the reader of a how-to page has declared, in fleet/clusters.yaml and fleet/links.yaml of a repository.
const (
	clusters = `apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: west}
spec: {access: {kubeconfigSecret: {name: west}}, apiServer: "WEST"}
---
apiVersion: linkwright.dev/v1alpha1
kind: Cluster
metadata: {name: east}
spec: {access: {kubeconfigSecret: {name: east}}, apiServer: "EAST"}
`
	links = `apiVersion: linkwright.dev/v1alpha1
kind: Link
metadata: {name: west-east}
spec: {source: west, target: east}
`
)

// checkout gives the reader a clone of the repository that all pages share, so that each page continues its history, and goes there.
func (r *reader) checkout() {
	r.Helper()
	r.words["URL"], r.words["WEST"], r.words["EAST"] = r.beside("fleet.git"), r.bed.Cluster("west").Config.Host, r.bed.Cluster("east").Config.Host
	r.do(`export LINKWRIGHT_ALLOW_FILE_REPO=true
cd ` + r.lab.dir + `
[ -e west.yaml ] || ln -s kubeconfig west.yaml
[ -e fleet.git ] || { git init --quiet --bare --initial-branch main fleet.git && git -C fleet.git config uploadpack.allowAnySHA1InWant true; } # as forges do
[ -e fleet ] || git clone --quiet fleet.git fleet 2>&1
cd fleet
git symbolic-ref HEAD refs/heads/main
daemon() {
  linkwright run "$@" --listen 127.0.0.1:0 --log-level debug 2>` + r.beside("daemon.log") + ` & 
  for i in $(seq 300); do
    grep -q 'msg="sync done"' ` + r.beside("daemon.log") + ` && break
    kill -0 $! 2>&1 || break
    sleep 0.1
  done
  kill $!
  wait $! || { cat ` + r.beside("daemon.log") + `; return 1; }
}`)
}

// declare makes the repository hold these files alone.
func (r *reader) declare(files map[string]string) {
	r.Helper()
	r.do("git rm -rqf --ignore-unmatch . && git clean -fdxq")
	for name, text := range files {
		r.write(name, r.filled(Part{}, text, nil))
	}
	r.push("Declare")
}

func (r *reader) push(subject string) {
	r.Helper()
	r.do("git add --all . && git commit --quiet --allow-empty --message '" + subject + "' && git push --quiet origin main")
}

// discovering: as linked in both directions, and the links use remote discovery and federated services, which need more rights.
func (r *reader) discovering() {
	r.Helper()
	r.declared()
	link := strings.Replace(links, "target: east", "target: east, remoteDiscoverySelector: {matchLabels: {mirror.linkerd.io/exported: remote-discovery}}, "+
		"federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}", 1)
	back := strings.NewReplacer("name: west-east", "name: east-west", "source: west, target: east", "source: east, target: west").Replace(link)
	r.write("fleet/links.yaml", link+"---\n"+back)
	r.push("Declare remote discovery and federated services")
	r.added()
	r.do("linkwright sync --repo URL")
}

// declared: the repository holds the fleet, and the branch branch has no link.
func (r *reader) declared() {
	r.Helper()
	r.checkout()
	r.declare(map[string]string{"fleet/clusters.yaml": clusters, "fleet/links.yaml": links})
	r.do("git checkout -qB branch && git rm -q fleet/links.yaml && git commit -qm 'Unlink' && git push -qf origin branch && git checkout -q main")
}

// linked: linkwright reaches both clusters, and they are as declared.
func (r *reader) linked() {
	r.Helper()
	r.declared()
	r.added()
	r.do("linkwright sync --repo URL")
}

// added: linkwright has access to both clusters.
func (r *reader) added() {
	r.Helper()
	r.do("linkwright cluster add --all . --management-kubeconfig ../west.yaml")
}

// clean: nothing of linkwright is in the clusters. What was linked is removed as the pages say.
func (r *reader) clean() {
	r.Helper()
	r.settled()
	if r.without("west", "linkwright") && r.without("east", "linkwright") {
		return
	}
	r.unlinked()
	for _, p := range partsOf(r.T, "docs/how-to/access.md") {
		if p.First() == endOfAccess {
			r.do(p.Text + strings.ReplaceAll(p.Text, "--context east", "--context west"))
		}
	}
	r.do("cd " + r.dir + "; unset LINKWRIGHT_ALLOW_FILE_REPO")
	r.settled()
}

// unlinked: nothing is linked, and nothing is recorded. linkerd-destination was not restarted: linkwright waits 5 minutes between two restarts.
func (r *reader) unlinked() {
	r.Helper()
	r.settled()
	r.do("kubectl --context west --namespace linkerd delete deployment linkerd-destination")
	r.must(r.installLinkerd(r.Context()))
	if r.do("kubectl --context west --namespace linkwright get configmaps --output name --ignore-not-found linkwright-fleet") == "\n" {
		return
	}
	r.linked()
	r.do("linkwright uninstall --yes --repo URL")
}

// settled: no namespace is being deleted.
func (r *reader) settled() {
	r.Helper()
	for _, c := range r.bed.Clusters {
		r.until(func(ctx context.Context) error {
			spaces, err := kubernetes.NewForConfigOrDie(c.Config).CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
			if err != nil {
				return err
			}
			for _, s := range spaces.Items {
				if s.DeletionTimestamp != nil {
					return errors.New(c.Name + " still deletes its namespace " + s.Name)
				}
			}
			return nil
		})
	}
}

func (r *reader) without(cluster, namespace string) bool {
	r.Helper()
	_, err := kubernetes.NewForConfigOrDie(r.bed.Cluster(cluster).Config).CoreV1().Namespaces().Get(r.Context(), namespace, metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		r.Fatal(err)
	}
	return err != nil
}

// daemon runs commands while a daemon runs, whose address is $DAEMON.
func (r *reader) daemon(flags, commands string) {
	r.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	address := l.Addr().String()
	r.must(l.Close())
	r.do("export DAEMON=http://" + address + "\nlinkwright run --repo URL --listen " + address + " " + flags + ` --log-level debug 2>../daemon.log &
for i in $(seq 300); do grep 'msg="sync done"' ../daemon.log && break; sleep 0.1; done`)
	r.do("{ " + commands + "\n} || { cat ../daemon.log; false; }\nkill %%; wait %%")
}

// handMade: west and east are linked by hand, and linkwright has access to both.
func (r *reader) handMade() {
	r.Helper()
	r.unlinked()
	r.declared()
	r.added()
	r.declare(nil)
	fill := strings.NewReplacer("TARGET", "east", "KUBECONFIG", base64.StdEncoding.EncodeToString(r.sharedAccess("east"))).Replace
	r.write("hand.yaml", fill(testbed.HandMadeController()+"---\n"+testbed.HandMadeLink()))
	r.do("kubectl apply --filename hand.yaml && rm hand.yaml && kubectl --namespace linkerd-multicluster rollout status deployment controller-east")
}

// commit is the newest of the branch main.
func (r *reader) commit() string {
	r.Helper()
	return strings.TrimSpace(r.do("git rev-parse main"))
}

// found is what the group of a pattern matches.
func (r *reader) found(text, pattern string) string {
	r.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		r.Fatalf("%s is not in\n%s", pattern, text)
	}
	return m[1]
}

// uid is that of a cluster.
func (r *reader) uid(cluster string) string {
	r.Helper()
	space, err := kubernetes.NewForConfigOrDie(r.bed.Cluster(cluster).Config).CoreV1().Namespaces().Get(r.Context(), "kube-system", metav1.GetOptions{})
	r.must(err)
	return string(space.UID)
}

func (r *reader) until(f func(context.Context) error) {
	r.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(100 * time.Millisecond) {
		err := f(r.Context())
		if err == nil {
			return
		}
		if time.Now().After(end) {
			r.Fatal(err)
		}
	}
}

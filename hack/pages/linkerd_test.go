package pages

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/linkwright/linkwright/hack/testbed"
)

// linkerd puts a program of that name beside kubectl, which prints what Linkerd's own prints for the commands of the page and for a link
// to east, and fails at others. Linkerd itself is no dependency of this repository.
func (r *reader) linkerd() {
	r.Helper()
	fill := strings.NewReplacer("TARGET", "east", "KUBECONFIG", base64.StdEncoding.EncodeToString(r.sharedAccess("east"))).Replace
	r.must(os.WriteFile(r.beside("controllers"), []byte(fill(testbed.HandMadeController())), 0o600))
	r.must(os.WriteFile(r.beside("link"), []byte(fill(testbed.HandMadeLink())), 0o600))
	script := `#!/bin/sh
case "$*" in
"--context west multicluster install --set controllers[0].link.ref.name=east") cat ` + r.beside("controllers") + ` ;;
"--context east multicluster link-gen --cluster-name east") cat ` + r.beside("link") + ` ;;
*) echo "linkerd: unknown command: $*" >&2; exit 1 ;;
esac
`
	r.must(os.WriteFile(filepath.Join(r.beside("bin"), "linkerd"), []byte(script), 0o755)) //nolint:gosec // a program
}

// sharedAccess is a kubeconfig with the token of the account that Linkerd's extension makes in a target, for all of its sources.
func (r *reader) sharedAccess(target string) []byte {
	r.Helper()
	c := r.bed.Cluster(target)
	s, err := kubernetes.NewForConfigOrDie(c.Config).CoreV1().Secrets(testbed.Multicluster).Get(r.Context(), "linkerd-service-mirror-remote-access-default-token", metav1.GetOptions{})
	r.must(err)
	file, err := clientcmd.LoadFromFile(c.Kubeconfig)
	r.must(err)
	out := clientcmdapi.NewConfig()
	out.Clusters[target] = file.Clusters[file.Contexts[file.CurrentContext].Cluster]
	out.AuthInfos["remote-access"] = &clientcmdapi.AuthInfo{Token: string(s.Data["token"])}
	out.Contexts[target] = &clientcmdapi.Context{Cluster: target, AuthInfo: "remote-access"}
	out.CurrentContext = target
	raw, err := clientcmd.Write(*out)
	r.must(err)
	return raw
}

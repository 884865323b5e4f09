package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

// rotatedCanary takes the place of faultCanary at the server.
const rotatedCanary = faultCanary + "-rotated"

// managementKeys: credentials and trusted keys come from Secrets and a ConfigMap of the management cluster; an error names the one that
// is missing, and followed where it changes under a daemon.
func (f *faults) managementKeys() {
	ann, bob, carol := f.signer("ann"), f.signer("bob"), f.signer("carol")
	args := []string{
		"--git-secret", "git", "--verify", "HEAD", "--verify-keys-secret", "signers", "--verify-keys-configmap", "guests",
		"--git-timeout", "20s", "--hook-secret-file", f.hook,
	}
	f.missing("--git-secret: Secret linkwright/git is missing in the management cluster", args)
	f.secret("git", map[string]string{"password": faultCanary, "ca.crt": f.content(f.front.ca)})
	f.missing("--verify-keys-secret: Secret linkwright/signers is missing in the management cluster", args)
	f.secret("signers", map[string]string{"ann.pub": f.content(ann + ".pub")})
	f.missing("--verify-keys-configmap: ConfigMap linkwright/guests is missing in the management cluster", args)
	f.configMap("guests", map[string]string{"bob.pub": f.content(bob + ".pub")})

	ctx, stop := context.WithCancel(f.t.Context())
	log := filepath.Join(f.t.TempDir(), "log")
	f.signs(ann)
	daemon, at := f.daemonAt(ctx, log, args...)
	f.at = at
	f.expect("a commit by the Secret's key is in force", f.inForce)
	f.signs(bob)
	f.expect("a commit by the ConfigMap's key is in force", f.inForce)

	f.refuses("credentials are missing or wrong", func() { f.front.wants(rotatedCanary); f.signs(ann) })
	f.secret("git", map[string]string{"password": rotatedCanary, "ca.crt": f.content(f.front.ca)})
	f.expect("the new password is used", f.inForce)
	f.refuses("not trusted", func() { f.signs(carol) })
	f.secret("signers", map[string]string{"carol.pub": f.content(carol + ".pub")})
	f.expect("a commit by the Secret's new key is in force", f.inForce)
	f.refuses("not trusted", func() { f.signs(ann) })
	f.configMap("guests", map[string]string{"ann.pub": f.content(ann + ".pub")})
	f.expect("a commit by the ConfigMap's new key is in force", f.inForce)
	f.refuses("Secret linkwright/git is missing", func() {
		f.remove("git")
		f.expect("the report names the missing Secret", func() bool { return strings.Contains(f.report().Error, "is missing") })
		f.signs(carol) // a poll that had read the Secret before would still see this one
	})
	f.secret("git", map[string]string{"password": rotatedCanary, "ca.crt": f.content(f.front.ca)})
	f.expect("the Secret is back", f.inForce)
	stop()
	_ = daemon.Wait() // its exit code is another test's matter
	f.silent("the log", f.content(log))
}

// missing runs one sync, which must say what is not there, and write nothing.
func (f *faults) missing(words string, args []string) {
	f.t.Helper()
	before := f.writes()
	r := f.run(append([]string{"sync"}, args[:len(args)-2]...)...) // all but the hook, which sync does not have
	if r.code == cli.ExitDone || !strings.Contains(r.out+r.stderr, words) {
		f.t.Errorf("sync: exit code %d; does not say %q:\n%s%s", r.code, words, r.out, r.stderr)
	}
	f.silent("sync", r.out+r.stderr)
	if r := f.run(append([]string{"sync", "--log-level", "error"}, args[:len(args)-2]...)...); r.code == cli.ExitDone || !strings.Contains(r.stderr, words) || strings.Contains(r.stderr, "linkwright: ") {
		f.t.Errorf("sync with a log: exit code %d; does not say %q in the log alone:\n%s", r.code, words, r.stderr)
	}
	if n := f.writes() - before; n != 0 {
		f.t.Errorf("sync without keys caused %d writes", n)
	}
}

// refuses: the report shows a change that is not applied, and the applied revision stays.
func (f *faults) refuses(words string, change func()) {
	f.t.Helper()
	good := f.report().Commit
	change()
	f.expect("the report says "+words, func() bool { return strings.Contains(f.report().Error, words) })
	if now := f.report().Commit; now != good {
		f.t.Errorf("applied is %s, want the revision before, %s", now, good)
	}
}

// signer makes a key, and gives its file.
func (f *faults) signer(name string) string {
	f.t.Helper()
	key := filepath.Join(f.t.TempDir(), name)
	out, err := exec.CommandContext(f.t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-C", name, "-N", "", "-f", key).CombinedOutput()
	if err != nil {
		f.t.Skipf("ssh-keygen: %v %s", err, out)
	}
	return key
}

// signs declares something new, in a commit signed by the key.
func (f *faults) signs(key string) {
	f.t.Helper()
	for name, value := range map[string]string{"gpg.format": "ssh", "user.signingKey": key, "commit.gpgSign": "true"} {
		f.git("config", name, value)
	}
	f.declare()
}

func (f *faults) content(file string) string {
	f.t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		f.t.Fatal(err)
	}
	return string(bytes.TrimRight(raw, "\n")) + "\n"
}

// secret puts one in the management cluster, in the place of what was there.
func (f *faults) secret(name string, data map[string]string) {
	f.t.Helper()
	f.remove(name)
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
	if _, err := f.client("west").CoreV1().Secrets("linkwright").Create(f.t.Context(), s, metav1.CreateOptions{}); err != nil {
		f.t.Fatal(err)
	}
}

// remove deletes a Secret, if there is one.
func (f *faults) remove(name string) {
	f.t.Helper()
	err := f.client("west").CoreV1().Secrets("linkwright").DeleteCollection(f.t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{FieldSelector: "metadata.name=" + name})
	if err != nil {
		f.t.Fatal(err)
	}
}

// configMap puts one in the management cluster, or changes it.
func (f *faults) configMap(name string, data map[string]string) {
	f.t.Helper()
	maps := f.client("west").CoreV1().ConfigMaps("linkwright")
	m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: data}
	_, err := maps.Update(f.t.Context(), m, metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) {
		_, err = maps.Create(f.t.Context(), m, metav1.CreateOptions{})
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

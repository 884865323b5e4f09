package pages

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func git() howTo {
	return howTo{file: "docs/how-to/git.md", given: func(r *reader) { r.linked(); r.sshd() }, acts: []act{
		{
			at:    "ssh-keygen -t ed25519 -N '' -f identity     # identity.pub is the deploy key, read-only",
			words: map[string]string{"ssh-keyscan git.example.com": "ssh-keyscan -p $PORT 127.0.0.1 2>&1"}, after: (*reader).overSSH,
		},
		{
			at: "linkwright run --repo URL --verify HEAD --verify-keys /etc/linkwright/keys", before: (*reader).signed,
			words: map[string]string{"/etc/linkwright/keys": "../keys"}, after: (*reader).unsigned,
		},
		{at: "gpg --armor --export KEY…", before: func(r *reader) {
			r.do(`install -d -m 700 $GNUPGHOME && gpg --quiet --batch --passphrase '' --quick-generate-key You ed25519 sign 2>&1`)
		}, words: map[string]string{"KEY": "You"}, shows: []string{"BEGIN PGP PUBLIC KEY BLOCK"}},
		{at: "git config gpg.format ssh", after: func(r *reader) { r.push("Sign with SSH"); r.verified("../keys") }},
		{at: "git config user.signingKey FINGERPRINT", before: func(r *reader) {
			r.words["FINGERPRINT"] = r.found(r.do("gpg --with-colons --fingerprint You"), `fpr:+([0-9A-F]{40})`)
			r.do("git config --unset gpg.format && gpg --armor --export You >../key.asc")
		}, after: func(r *reader) { r.push("Sign with OpenPGP"); r.verified("../key.asc") }},
		{at: "openssl rand -hex 32 >secret", after: func(r *reader) {
			r.do("mv secret .. && git config --unset commit.gpgSign && kubectl -n linkwright delete secret linkwright-hook")
		}},
		{at: "#!/bin/sh", words: map[string]string{"/etc/linkwright-hook/secret": "BESIDE/secret", "https://linkwright.example.com": "$DAEMON"}, run: (*reader).postReceive},
	}}
}

// overSSH: with the Secret of the page, linkwright reads the repository by ssh.
func (r *reader) overSSH() {
	r.Helper()
	r.do(`linkwright sync --repo ssh://$(id -un)@127.0.0.1:${PORT}URL --git-secret linkwright-git
kubectl -n linkwright delete secret linkwright-git && rm identity identity.pub known_hosts`)
}

// signed: the newest commit and its tag are signed with a key of keys.
func (r *reader) signed() {
	r.Helper()
	r.do(`mkdir -p ~/.ssh ../keys && ssh-keygen -q -t ed25519 -N '' -f ~/.ssh/id_ed25519 && cp ~/.ssh/id_ed25519.pub ../keys
sign="-c gpg.format=ssh -c user.signingKey=$HOME/.ssh/id_ed25519.pub"
git $sign commit --quiet --allow-empty -S -m signed && git $sign tag -s -m 'release 1.4.0' v1.4.0 && git push -q origin main v1.4.0
kubectl -n linkwright create configmap linkwright-keys --from-file ../keys`)
}

func (r *reader) unsigned() {
	r.Helper()
	r.do("kubectl -n linkwright delete configmap linkwright-keys")
	r.push("Do not sign")
	if out := r.fails(exitError, "linkwright sync --repo URL --verify HEAD --verify-keys ../keys"); !strings.Contains(out, "unsigned") {
		r.Errorf("an unsigned commit:\n%s", out)
	}
}

func (r *reader) verified(keys string) {
	r.Helper()
	r.do("linkwright sync --repo URL --verify HEAD --verify-keys " + keys)
}

// postReceive: with the hook of the page, a push starts a sync of a daemon whose next poll would be in an hour.
func (r *reader) postReceive(hook string) {
	r.Helper()
	r.write("fleet/policy.yaml", "apiVersion: linkwright.dev/v1alpha1\nkind: SyncPolicy\nspec: {interval: 1h}\n")
	r.push("Poll once an hour")
	r.write("post-receive", strings.ReplaceAll(hook, "BESIDE", r.lab.dir))
	r.do("mv post-receive ../fleet.git/hooks && chmod +x ../fleet.git/hooks/post-receive")
	r.daemon("--hook-secret-file ../secret", `git commit -q --allow-empty -m hook && git push -q origin main 2>&1 &&
for i in $(seq 100); do grep "revision applied.*$(git rev-parse main)" ../daemon.log && break; sleep 0.1; done &&
grep "revision applied.*$(git rev-parse main)" ../daemon.log`)
	r.do("rm ../fleet.git/hooks/post-receive")
}

// sshd serves the repository on a port of this machine, for the deploy key of the page.
func (r *reader) sshd() {
	r.Helper()
	program := ""
	for _, dir := range append(filepath.SplitList(os.Getenv("PATH")), "/usr/sbin") {
		if _, err := os.Stat(filepath.Join(dir, "sshd")); err == nil {
			program = filepath.Join(dir, "sshd")
			break
		}
	}
	if program == "" {
		if ci := os.Getenv("CI"); ci == "1" || ci == "true" {
			r.Fatal("sshd is not installed")
		}
		r.Skip("sshd is not installed")
	}
	if os.Geteuid() == 0 {
		_ = os.MkdirAll("/run/sshd", 0o755) //nolint:gosec // where sshd locks itself in
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	r.must(err)
	_, port, err := net.SplitHostPort(l.Addr().String())
	r.must(err)
	r.must(l.Close())
	r.do("export PORT=" + port + "; ssh-keygen -q -t ed25519 -N '' -f ../host")
	r.must(os.WriteFile(r.beside("sshd_config"), fmt.Appendf(nil, "ListenAddress 127.0.0.1\nPort %s\nHostKey %s\nAuthorizedKeysFile %s\n"+
		"PermitRootLogin yes\nStrictModes no\nUsePAM no\nPasswordAuthentication no\nPidFile none\n", port, r.beside("host"), r.beside("fleet/identity.pub")), 0o600))
	server := exec.CommandContext(r.Context(), program, "-D", "-e", "-f", r.beside("sshd_config"))
	r.must(server.Start())
	r.Cleanup(func() { _ = server.Process.Kill(); _ = server.Wait() })
	r.do("for i in $(seq 50); do ssh-keyscan -p $PORT 127.0.0.1 2>&1 | grep ed25519 && break; sleep 0.1; done")
}

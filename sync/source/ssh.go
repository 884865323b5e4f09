package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"github.com/skeema/knownhosts"
	"golang.org/x/crypto/ssh"
	"golang.org/x/crypto/ssh/agent"
)

const maxStderr = 4 << 10 // bytes of what a server writes to its stderr

// dialSSH connects and starts the program. Closing the connection is what ends every wait, so ctx needs no other hold.
func (v *dialer) dialSSH(ctx context.Context) (transport.UploadPackSession, error) {
	addr := v.host()
	config, err := v.who.ssh(addr)
	if err != nil {
		return nil, err
	}
	forget, err := v.askAgent(ctx, config)
	if err != nil {
		return nil, err
	}
	defer forget() // it is needed for the handshake alone
	conn, err := v.proxy.dial(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, addr, config)
	if err != nil {
		stop()
		_ = conn.Close() // it is closed by now; what went wrong is known
		return nil, errors.Join(context.Cause(ctx), v.who.denied(err))
	}
	client := ssh.NewClient(c, channels, requests)
	out, err := start(client, transport.UploadPackServiceName+" "+quote(v.end.Path))
	if err != nil {
		stop()
		_ = client.Close() // what went wrong is known
		return nil, errors.Join(context.Cause(ctx), err)
	}
	out.asked = v.asked
	out.end = func() error { stop(); return client.Close() }
	return out, nil
}

// ssh is who we are, and whom we believe. Only algorithms of the keys that are known for the host are offered, since a
// host that is known by one key may prefer to show another.
func (c credentials) ssh(addr string) (*ssh.ClientConfig, error) {
	known, err := c.knownHosts()
	if err != nil {
		return nil, err
	}
	config := &ssh.ClientConfig{
		User:              c.user,
		HostKeyCallback:   known.HostKeyCallback(),
		HostKeyAlgorithms: known.HostKeyAlgorithms(addr),
	}
	if c.signer != nil {
		config.Auth = []ssh.AuthMethod{ssh.PublicKeys(c.signer)}
	}
	return config, nil
}

// knownHosts reads OpenSSH's format. The library that understands hashed names, patterns and authorities wants a file; what
// it holds is public.
func (c credentials) knownHosts() (*knownhosts.HostKeyDB, error) {
	f, err := os.CreateTemp("", "known_hosts-")
	if err != nil {
		return nil, fmt.Errorf("store the key %s: %w", KeyKnownHosts, err)
	}
	defer os.Remove(f.Name()) //nolint:errcheck // it lies in the temporary directory
	_, err = f.Write(c.known)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("store the key %s: %w", KeyKnownHosts, err)
	}
	known, err := gitssh.NewKnownHostsDb(f.Name())
	if err != nil {
		line := strings.ReplaceAll(err.Error(), f.Name()+":", "line ")
		return nil, fmt.Errorf("the key %s is not a list of known hosts: %s", c.flags.key(KeyKnownHosts), line)
	}
	return known, nil
}

// askAgent lets the agent sign, where there is no key of linkwright's own. The agent's connection must stay for the handshake.
func (v *dialer) askAgent(ctx context.Context, config *ssh.ClientConfig) (forget func(), err error) {
	if v.who.signer != nil {
		return func() {}, nil
	}
	conn, err := new(net.Dialer).DialContext(ctx, "unix", v.source.options.Agent)
	if err != nil {
		return nil, fmt.Errorf("no ssh agent answers at %s (check SSH_AUTH_SOCK): %w", v.source.options.Agent, &agentError{last(err)})
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	forget = func() { stop(); _ = conn.Close() }
	signers, err := agent.NewClient(conn).Signers()
	switch {
	case err != nil:
		forget()
		return nil, errors.Join(context.Cause(ctx), fmt.Errorf("the ssh agent at %s does not list its keys: %w", v.source.options.Agent, &agentError{err}))
	case len(signers) == 0:
		forget()
		return nil, fmt.Errorf("the ssh agent at %s holds no key (add one: ssh-add)", v.source.options.Agent)
	}
	config.Auth = []ssh.AuthMethod{ssh.PublicKeys(signers...)}
	return forget, nil
}

// agentError keeps what failed on this machine from counting against the server.
type agentError struct{ cause error }

func (e *agentError) Error() string { return e.cause.Error() }

// denied puts in front of a handshake's error what we showed, where the server took none of it.
func (c credentials) denied(err error) error {
	if !strings.Contains(err.Error(), "unable to authenticate") { // x/crypto/ssh has no type for it
		return err
	}
	text := "the agent's keys"
	if c.signer != nil {
		text = "the key " + ssh.FingerprintSHA256(c.signer.PublicKey())
	}
	return &sshDenied{fmt.Sprintf("the server does not let the user %s in with %s (check that its public key is registered there)", c.user, text)}
}

// sshDenied is a server that takes none of linkwright's keys.
type sshDenied struct{ text string }

func (e *sshDenied) Error() string { return e.text }

// start runs a program at the other end.
func start(client *ssh.Client, command string) (*stream, error) {
	run, err := client.NewSession()
	if err != nil {
		return nil, err
	}
	in, err := run.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := run.StdoutPipe()
	if err != nil {
		return nil, err
	}
	var stderr bytes.Buffer // written until run.Wait returns
	run.Stderr = &limited{to: &stderr, left: maxStderr}
	said := func() string {
		_ = run.Wait()
		return stderr.String()
	}
	return &stream{in: in, out: out, stderr: said}, run.Start(command)
}

// quote makes one word of a path for the shell at the other end, as git does: ! too, for shells with a history.
func quote(path string) string {
	return "'" + strings.NewReplacer("'", `'\''`, "!", `'\!'`).Replace(path) + "'"
}

// limited keeps the first bytes and takes the others for written.
type limited struct {
	to   *bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	n := min(len(p), l.left)
	l.left -= n
	l.to.Write(p[:n])
	return len(p), nil
}

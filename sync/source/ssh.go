package source

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/format/pktline"
	"github.com/go-git/go-git/v5/plumbing/protocol/packp"
	"github.com/go-git/go-git/v5/plumbing/transport"
	gitssh "github.com/go-git/go-git/v5/plumbing/transport/ssh"
	"golang.org/x/crypto/ssh"
)

// sshSession is git-upload-pack at the other end of an ssh connection. go-git has one too; its handshake knows no
// deadline and no context, so a host that accepts and then says nothing would keep a poll, and its goroutine, for ever.
type sshSession struct {
	conn   *ssh.Client
	stop   func() bool // of the watch on ctx
	run    *ssh.Session
	in     io.WriteCloser
	out    io.Reader
	stderr bytes.Buffer // written until run.Wait returns
	refs   *packp.AdvRefs
}

// dialSSH connects and starts the program. Closing the connection is what ends every wait, so ctx needs no other hold.
func dialSSH(ctx context.Context, end *transport.Endpoint, who credentials) (transport.UploadPackSession, error) {
	addr := net.JoinHostPort(strings.Trim(end.Host, "[]"), strconv.Itoa(cmp.Or(end.Port, gitssh.DefaultPort)))
	config, err := who.ssh(addr)
	if err != nil {
		return nil, err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	c, channels, requests, err := ssh.NewClientConn(conn, addr, config)
	if err != nil {
		stop()
		return nil, errors.Join(context.Cause(ctx), err, conn.Close())
	}
	s := &sshSession{conn: ssh.NewClient(c, channels, requests), stop: stop}
	if err := s.start(transport.UploadPackServiceName + " " + quote(end.Path)); err != nil {
		return nil, errors.Join(context.Cause(ctx), err, s.Close())
	}
	return s, nil
}

// ssh is who we are, and whom we believe. Only algorithms of the keys that are known for the host are offered, since a
// host that is known by one key may prefer to show another.
func (c credentials) ssh(addr string) (*ssh.ClientConfig, error) {
	signer, err := ssh.ParsePrivateKey(c.key)
	if err != nil {
		return nil, fmt.Errorf("ssh key file: %w", err)
	}
	known, err := gitssh.NewKnownHostsDb(c.knownHosts)
	if err != nil {
		return nil, fmt.Errorf("known_hosts file %s: %w", c.knownHosts, err)
	}
	return &ssh.ClientConfig{
		User:              c.user,
		Auth:              []ssh.AuthMethod{ssh.PublicKeys(signer)},
		HostKeyCallback:   known.HostKeyCallback(),
		HostKeyAlgorithms: known.HostKeyAlgorithms(addr),
	}, nil
}

func (s *sshSession) start(command string) (err error) {
	if s.run, err = s.conn.NewSession(); err != nil {
		return err
	}
	if s.in, err = s.run.StdinPipe(); err != nil {
		return err
	}
	if s.out, err = s.run.StdoutPipe(); err != nil {
		return err
	}
	s.run.Stderr = &limited{to: &s.stderr, left: 4 << 10}
	return s.run.Start(command)
}

// AdvertisedReferences implements transport.Session.
func (s *sshSession) AdvertisedReferences() (*packp.AdvRefs, error) {
	return s.AdvertisedReferencesContext(context.Background())
}

// AdvertisedReferencesContext implements transport.Session; ctx is the one that the session was opened with.
func (s *sshSession) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	if s.refs != nil {
		return s.refs, nil
	}
	refs := packp.NewAdvRefs()
	err := refs.Decode(s.out)
	switch {
	case errors.Is(err, packp.ErrEmptyAdvRefs), err == nil && refs.IsEmpty():
		return nil, transport.ErrEmptyRemoteRepository
	case err != nil:
		return nil, errors.Join(context.Cause(ctx), s.complaint(err))
	}
	transport.FilterUnsupportedCapabilities(refs.Capabilities)
	s.refs = refs
	return refs, nil
}

// complaint prefers what the program wrote to stderr before it ended to what we made of its silence.
func (s *sshSession) complaint(err error) error {
	if !errors.Is(err, packp.ErrEmptyInput) {
		return err
	}
	_ = s.run.Wait()
	if said := strings.TrimSpace(s.stderr.String()); said != "" {
		return fmt.Errorf("%w: the server says: %s", transport.ErrRepositoryNotFound, said)
	}
	return err
}

// UploadPack implements transport.UploadPackSession; a session has one.
func (s *sshSession) UploadPack(ctx context.Context, r *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if _, err := s.AdvertisedReferencesContext(ctx); err != nil {
		return nil, err
	}
	if err := r.UploadRequest.Encode(s.in); err != nil {
		return nil, err
	}
	if err := r.UploadHaves.Encode(s.in, true); err != nil {
		return nil, err
	}
	if err := pktline.NewEncoder(s.in).EncodeString("done\n"); err != nil {
		return nil, err
	}
	response := packp.NewUploadPackResponse(r)
	if err := response.Decode(io.NopCloser(s.out)); err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return response, nil
}

// Close implements io.Closer. The program at the other end sees its input end, whatever it was doing.
func (s *sshSession) Close() error {
	s.stop()
	return s.conn.Close()
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

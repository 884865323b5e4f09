package source

import (
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
	"github.com/go-git/go-git/v5/plumbing/transport/git"
)

// stream is git-upload-pack at the other end of a connection that stays open: over ssh, or of a git daemon. go-git has both
// too; there a handshake knows no deadline and no context, so a host that accepts and then says nothing would keep a poll,
// and its goroutine, for ever.
type stream struct {
	in     io.Writer
	out    io.Reader
	stderr func() string // what the other end wrote beside, once it ended
	end    func() error
	asked  func() // called when a pack is asked for
	refs   *packp.AdvRefs
}

// AdvertisedReferences implements transport.Session.
func (s *stream) AdvertisedReferences() (*packp.AdvRefs, error) {
	return s.AdvertisedReferencesContext(context.Background())
}

// AdvertisedReferencesContext implements transport.Session; ctx is the one that the session was opened with.
func (s *stream) AdvertisedReferencesContext(ctx context.Context) (*packp.AdvRefs, error) {
	if s.refs != nil {
		return s.refs, nil
	}
	refs := packp.NewAdvRefs()
	err := refs.Decode(&bounded{ReadCloser: io.NopCloser(s.out), left: maxListing, beyond: errListing})
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

// serverMessage is what a server wrote instead of its refs. It may contain secrets that were sent.
type serverMessage struct{ text string }

func (m *serverMessage) Error() string {
	return fmt.Sprintf("%v: the server says: %s", transport.ErrRepositoryNotFound, m.text)
}

func (*serverMessage) Unwrap() error { return transport.ErrRepositoryNotFound }

// complaint prefers what the program wrote before it ended to what we made of its silence.
func (s *stream) complaint(err error) error {
	var line *pktline.ErrorLine
	said := ""
	switch {
	case errors.As(err, &line):
		said = line.Text
	case errors.Is(err, packp.ErrEmptyInput):
		said = s.stderr()
	}
	if said = strings.TrimSpace(said); said != "" {
		return &serverMessage{said}
	}
	return err
}

// UploadPack implements transport.UploadPackSession; a session has one.
func (s *stream) UploadPack(ctx context.Context, r *packp.UploadPackRequest) (*packp.UploadPackResponse, error) {
	if _, err := s.AdvertisedReferencesContext(ctx); err != nil {
		return nil, err
	}
	s.asked()
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
	preamble := &bounded{ReadCloser: io.NopCloser(s.out), left: maxPreamble, beyond: errPreamble}
	if err := response.Decode(preamble); err != nil {
		return nil, errors.Join(context.Cause(ctx), err)
	}
	preamble.lift()
	return response, nil
}

// Close implements io.Closer. The program at the other end sees its input end, whatever it was doing.
func (s *stream) Close() error { return s.end() }

// dialGit connects to a git daemon, which knows nobody and is believed everything: for loopback, or where that is allowed.
func (v *dialer) dialGit(ctx context.Context) (transport.UploadPackSession, error) {
	conn, err := v.proxy.dial(ctx, "tcp", v.host())
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	request := packp.GitProtoRequest{
		RequestCommand: transport.UploadPackServiceName, Pathname: v.end.Path,
		Host: net.JoinHostPort(strings.Trim(v.end.Host, "[]"), strconv.Itoa(cmp.Or(v.end.Port, git.DefaultPort))),
	}
	if err := request.Encode(conn); err != nil {
		stop()
		_ = conn.Close() // what went wrong is known
		return nil, errors.Join(context.Cause(ctx), err)
	}
	return &stream{
		in: conn, out: conn, asked: v.asked,
		stderr: func() string { return "" },
		end:    func() error { stop(); return conn.Close() },
	}, nil
}

// asked notes that the server has everything it needs, and sends.
func (v *dialer) asked() { v.packing = true }

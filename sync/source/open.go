package source

import (
	"cmp"
	"context"
	"errors"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"

	"github.com/linkwright/linkwright/sync/forge"
)

// route is how a visit gets to its server. Nothing of it is there before it is needed: a visit that finds in the store what
// it looks for asks for no credentials, and for no turn.
type route struct {
	source  *Source
	begun   bool
	who     credentials
	proxy   proxy
	at      *host // where we have the turn
	http    *http.Transport
	packing bool // a pack was asked for

	preamble *bounded // of the last answer over http: what comes before the pack
}

// open begins a session. Only ssh and git:// connect already; ctx ends it, also while the server says nothing.
func (v *dialer) open(ctx context.Context) (transport.UploadPackSession, error) {
	if err := v.enter(ctx); err != nil {
		return nil, err
	}
	end := new(v.end) // a copy: go-git rewrites it when it follows a redirect
	switch end.Protocol {
	case "ssh":
		return v.dialSSH(ctx)
	case "git":
		return v.dialGit(ctx)
	case "file":
		return file.DefaultClient.NewUploadPackSession(end, nil)
	}
	return v.openHTTP(end)
}

// enter reads the credentials and then, since a GitHub App's may come from the same host, waits for a free slot there.
func (v *dialer) enter(ctx context.Context) (err error) {
	if v.begun {
		return nil
	}
	if v.who, err = v.source.credentials(ctx); err != nil {
		return &keysError{err}
	}
	if v.proxy, err = proxyFor(cmp.Or(v.source.options.Proxy, v.who.proxy), v.address()); err != nil {
		return err
	}
	v.who.hidden = append(v.who.hidden, v.proxy.hidden()...)
	if name := v.host(); name != "" {
		v.at, err = v.source.hosts().acquire(ctx, name)
	}
	v.begun = err == nil
	return err
}

// leave ends the visit and, with how it went, linkwright's turn.
func (v *visit) leave(ctx context.Context, err error) error {
	err = unwrapLibrary(err)
	if v.session != nil {
		_ = v.session.Close() // all that was wanted of it was its listing
	}
	if v.http != nil {
		v.http.CloseIdleConnections()
	}
	if v.at != nil {
		v.at.release(err, v.source.reason(v, err))
	}
	var refused *forge.Refusal
	if v.who.app != nil && errors.As(err, &refused) && refused.Code == http.StatusUnauthorized {
		v.who.app.Drop(ctx, v.who.password)
	}
	return err
}

// hosts returns those of the options, else linkwright's own.
func (s *Source) hosts() *Hosts {
	if s.options.Hosts != nil {
		return s.options.Hosts
	}
	return &s.own
}

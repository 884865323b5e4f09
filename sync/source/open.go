package source

import (
	"context"
	"crypto/tls"
	"net/http"

	"github.com/go-git/go-git/v5/plumbing/transport"
	"github.com/go-git/go-git/v5/plumbing/transport/file"
	githttp "github.com/go-git/go-git/v5/plumbing/transport/http"
)

// open begins a session. Only ssh connects already; ctx ends it, also while the server says nothing.
func (v *visit) open(ctx context.Context) (transport.UploadPackSession, error) {
	end := new(v.end) // a copy: go-git rewrites it when it follows a redirect
	switch end.Protocol {
	case "ssh":
		return dialSSH(ctx, end, v.who)
	case "file":
		return file.DefaultClient.NewUploadPackSession(end, nil)
	}
	if v.http == nil {
		v.http = http.DefaultTransport.(*http.Transport).Clone()
		v.http.TLSClientConfig = &tls.Config{RootCAs: v.who.ca, MinVersion: tls.VersionTLS12}
	}
	return githttp.NewClient(&http.Client{Transport: v.http}).NewUploadPackSession(end, v.who.http())
}

// leave closes the connections that http keeps for the next request of a visit.
func (v *visit) leave() {
	if v.session != nil {
		_ = v.session.Close() // all that was wanted of it was its listing
	}
	if v.http != nil {
		v.http.CloseIdleConnections()
	}
}

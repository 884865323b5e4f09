package source

import (
	"context"
	"net/http"

	"github.com/linkwright/linkwright/sync/forge"
)

// API returns a client for what else the repository's forge is asked: by Git's proxy and with Git's CA, but without who we are. It takes no turn at
// the host, and a failure does not make Git leave the host alone: what is asked so must keep nobody from reading Git.
func (s *Source) API(ctx context.Context) (*http.Client, error) {
	keys, err := s.read(ctx)
	if err != nil {
		return nil, err
	}
	who := credentials{flags: s.options.Flags}
	who.proxy = keys.line(KeyProxy)
	if err := who.tls(Keys{KeyCA: keys[KeyCA]}); err != nil {
		return nil, err
	}
	return &http.Client{Transport: s.direct(who)}, nil
}

// Token returns the token with which Git is asked over https, which most forges take as a password, or that of a GitHub App, which reads the API
// also where Git goes by ssh; none where there is none. It is for the API at an address and nowhere else. An App's is given for the App's own API
// alone; that another is of the repository's own forge, the caller has seen to.
func (s *Source) Token(ctx context.Context, api string) (forge.Secret, error) {
	var who credentials
	var err error
	lend := func(a *forge.App) error { return a.ForHost(api) }
	switch s.remote.end.Protocol {
	case "http", "https":
		if who, err = s.credentials(ctx); err == nil && who.app != nil {
			err = lend(who.app)
		}
	case "ssh": // its password opens the key, and is for nobody else
		var keys Keys
		if keys, err = s.read(ctx); err == nil {
			who.proxy = keys.line(KeyProxy)
			err = who.tls(Keys{KeyCA: keys[KeyCA]})
		}
		if err == nil {
			who, err = s.appCredentials(ctx, who, keys, lend)
		}
	}
	if err != nil {
		return forge.Secret{}, err
	}
	for _, token := range []forge.Secret{who.token, who.password, who.alone} {
		if !token.IsZero() {
			return token, nil
		}
	}
	return forge.Secret{}, nil
}

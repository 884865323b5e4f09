package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"

	"github.com/spf13/pflag"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/sync/web"
)

// hookFlags say who may ask a daemon for a sync, and where.
type hookFlags struct {
	secretFile, listen string
}

func (h *hookFlags) add(f *pflag.FlagSet) {
	f.StringVar(&h.secretFile, "hook-secret-file", "", "file with the secret that signs requests to /hook, or with several, one a line; read again for each request (default: no /hook)")
	f.StringVar(&h.listen, "hook-listen", "", "address of a separate HTTP server for /hook (default: the one of --listen)")
}

// check refuses what contradicts itself.
func (h *hookFlags) check() error {
	if h.listen != "" && h.secretFile == "" {
		return cli.Usage("--hook-listen needs --hook-secret-file: without a secret linkwright cannot verify requests")
	}
	return nil
}

// endpoint is an address, and what answers there.
type endpoint struct {
	listener net.Listener
	handler  http.Handler
	purpose  string
}

// endpoints opens the addresses to listen on. If one cannot be opened, none is.
func (s serving) endpoints(ctx context.Context, server *web.Server, poke chan<- struct{}, log *slog.Logger) ([]endpoint, error) {
	if s.hook.secretFile == "" {
		main, err := listen(ctx, "--listen", s.listen)
		return []endpoint{{main, server.Handler(), "all"}}, err
	}
	hook, err := server.Hook(web.HookOptions{SecretFile: s.hook.secretFile, Poke: poke, Log: log})
	if err != nil {
		return nil, fmt.Errorf("--hook-secret-file: %w", err)
	}
	main, err := listen(ctx, "--listen", s.listen)
	if err != nil {
		return nil, err
	}
	if s.hook.listen == "" {
		both := http.NewServeMux()
		both.Handle("/", server.Handler())
		both.Handle("/hook", hook)
		return []endpoint{{main, both, "all"}}, nil
	}
	apart, err := listen(ctx, "--hook-listen", s.hook.listen)
	if err != nil {
		_ = main.Close() // nothing was sent to it yet
		return nil, err
	}
	return []endpoint{{main, server.Handler(), "all but hooks"}, {apart, hook, "hooks"}}, nil
}

func listen(ctx context.Context, flag, address string) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", flag, err)
	}
	return l, nil
}

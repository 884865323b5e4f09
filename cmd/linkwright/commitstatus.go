package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"golang.org/x/sync/errgroup"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
	"github.com/linkwright/linkwright/sync/forge"
	"github.com/linkwright/linkwright/sync/report"
)

// statusFlags say where the result is written back.
type statusFlags struct {
	kind, url, project string
	tokenFile          string
	context, target    string
}

func (s *statusFlags) add(f *pflag.FlagSet) {
	f.StringVar(&s.kind, "status", "", "post the result as a commit status, also with --observe: github, gitlab or gitea (also Forgejo) (default: none)")
	cli.OneOf(f, "status", kinds()...)
	f.StringVar(&s.url, "status-url", "", "base URL of the forge's API (default: the API of --repo's host)")
	f.StringVar(&s.project, "status-project", "", "OWNER/REPO on the forge (default: from --repo)")
	f.StringVar(&s.tokenFile, "status-token-file", "", "file with a token that may write commit statuses (default: the token or the GitHub App that Git uses over https, only on its own host)")
	f.StringVar(&s.context, "status-context", "", "name of the status (default: linkwright, or linkwright/OWNER with another --owner)")
	f.StringVar(&s.target, "status-target-url", "", "page that the status links to, such as a dashboard (default: none)")
}

// asking is how Git gets to its server, and who it is there.
type asking interface {
	API(context.Context) (*http.Client, error)
	Token(ctx context.Context, api string) (forge.Secret, error)
}

// check is open, of which only the error is wanted: before anything else is opened.
func (s *statusFlags) check(repo string) error {
	_, err := s.open(repo, nil)
	return err
}

// open gives a client; nil where no status is wanted.
func (s *statusFlags) open(repo string, git asking) (*forge.Client, error) {
	if s.kind == "" {
		if *s != (statusFlags{}) {
			return nil, cli.Usage("--status-… needs --status github, gitlab or gitea")
		}
		return nil, nil //nolint:nilnil // without a forge there is no client
	}
	kind := forge.Kind(s.kind)
	if !slices.Contains(forge.Kinds(), kind) {
		return nil, cli.Usage("--status %s: want one of %s", s.kind, strings.Join(kinds(), ", "))
	}
	if u, err := url.Parse(s.target); err != nil || s.target != "" && u.Scheme != "https" && u.Scheme != "http" || u.User != nil {
		return nil, cli.Usage("--status-target-url: want https://… without credentials")
	}
	place, err := s.place(kind, repo)
	if err != nil {
		return nil, err
	}
	if s.tokenFile == "" && !place.Beside(kind, repo) {
		return nil, cli.Usage("--status-url is on another host than --repo, so linkwright does not send Git's credentials there: give --status-token-file")
	}
	if s.tokenFile != "" {
		if _, err := s.fileToken(); err != nil {
			return nil, cli.Exit{Code: cli.ExitUsage, Err: err}
		}
	}
	client, err := forge.NewClient(kind, place, s.access(git, place.URL))
	switch {
	case err != nil && (s.url == "" || s.project == ""):
		return nil, cli.Usage("--status: %w: give --status-url and --status-project if --repo does not show them", err)
	case err != nil:
		return nil, cli.Usage("--status: %w", err)
	}
	return client, nil
}

func kinds() []string {
	var words []string
	for _, k := range forge.Kinds() {
		words = append(words, string(k))
	}
	return words
}

// place is what the flags say, and else what the repository's address says.
func (s *statusFlags) place(kind forge.Kind, repo string) (forge.Place, error) {
	place := forge.Place{URL: s.url, Project: strings.Trim(s.project, "/")}
	if place.URL != "" && place.Project != "" {
		return place, nil
	}
	from, err := forge.PlaceOf(kind, repo)
	if err != nil {
		return forge.Place{}, cli.Usage("--status: --repo does not show where the forge's API is: %w: give --status-url and --status-project", err)
	}
	return forge.Place{URL: cmp.Or(place.URL, from.URL), Project: cmp.Or(place.Project, from.Project)}, nil
}

// access reads way and token anew for each request.
func (s *statusFlags) access(git asking, api string) forge.Access {
	return func(ctx context.Context) (*http.Client, forge.Secret, error) {
		way, err := git.API(ctx)
		if err != nil {
			return nil, forge.Secret{}, err
		}
		token, err := s.token(ctx, git, api)
		return way, token, err
	}
}

func (s *statusFlags) token(ctx context.Context, git asking, api string) (forge.Secret, error) {
	if s.tokenFile == "" {
		token, err := git.Token(ctx, api)
		if err == nil && token.IsZero() {
			err = errors.New("there is no token, because linkwright reads Git without one: give --status-token-file")
		}
		return token, err
	}
	return s.fileToken()
}

func (s *statusFlags) fileToken() (forge.Secret, error) {
	raw, err := os.ReadFile(s.tokenFile)
	if err != nil {
		return forge.Secret{}, fmt.Errorf("--status-token-file: %w", err)
	}
	if raw = bytes.TrimSpace(raw); len(raw) == 0 {
		return forge.Secret{}, fmt.Errorf("--status-token-file %s: the file is empty", s.tokenFile)
	}
	return forge.NewSecret(string(raw)), nil
}

// statusPoster posts what reports say. A failure stops nothing else.
type statusPoster struct {
	flags  statusFlags
	owner  string
	client *forge.Client // nil: nowhere
}

// newStatusPoster checks the flags, and sends no request.
func newStatusPoster(e *cli.Engine, s statusFlags, f *cli.Common) (*statusPoster, error) {
	client, err := s.open(f.Git.Options.Repo, e.Source)
	return &statusPoster{s, f.Management.Owner, client}, err
}

const lastStatus = 10 * time.Second // before a command that ran once ends

// status is what a report says of its commit; false: it is about none.
func (t *statusPoster) status(r report.Report) (forge.Status, bool) {
	state, text := commitSummary(r)
	name := t.flags.context
	if name == "" {
		name = "linkwright"
		if t.owner != object.DefaultOwner {
			name += "/" + t.owner
		}
	}
	s := forge.Status{Commit: cmp.Or(r.Head, r.Commit), State: state, Description: text, Context: name, URL: t.flags.target}
	return s, t.client != nil && s.Commit != ""
}

// begin posts in the background until ctx ends, and returns the function to call with each report. What fails is logged.
func (t *statusPoster) begin(ctx context.Context, g *errgroup.Group, log *slog.Logger) func(report.Report) {
	if t.client == nil {
		return func(report.Report) {}
	}
	p := forge.NewPoster(t.client.Post, func(s forge.Status, err error) {
		log.Warn("commit status not posted", "commit", s.Commit, "error", err)
	})
	g.Go(func() error {
		p.Run(ctx)
		return nil
	})
	return func(r report.Report) {
		if s, ok := t.status(r); ok && r.When != report.Syncing {
			p.Post(s)
		}
	}
}

// once posts the status of one report; what fails is a warning.
func (t *statusPoster) once(ctx context.Context, r report.Report, stderr io.Writer) {
	s, ok := t.status(r)
	if !ok {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastStatus)
	defer cancel()
	if err := t.client.Post(ctx, s); err != nil {
		cli.Say(stderr, report.Printable("warning: "+err.Error()))
	}
}

package enroll

import (
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/object"
)

// chartValues are values of the Helm chart in deploy/chart. hack/chart tests that its schema allows them.
type chartValues struct {
	Owner  string         `json:"owner,omitempty"`
	Image  *chartImage    `json:"image,omitempty"`
	Git    chartGit       `json:"git"`
	Config map[string]any `json:"config,omitempty"`
}

type chartImage struct {
	Repository string `json:"repository"`
	Tag        string `json:"tag,omitempty"`
	Digest     string `json:"digest,omitempty"`
}

type chartGit struct {
	URL            string `json:"url"`
	Ref            string `json:"ref,omitempty"`
	Path           string `json:"path,omitempty"`
	ExistingSecret string `json:"existingSecret,omitempty"`
}

// parseImage splits REPOSITORY[:TAG][@DIGEST].
func parseImage(text string) (*chartImage, error) {
	if text == "" {
		return nil, nil //nolint:nilnil // no image was named
	}
	out := chartImage{Repository: text}
	out.Repository, out.Digest, _ = strings.Cut(text, "@")
	if at := strings.LastIndex(out.Repository, ":"); at > strings.LastIndex(out.Repository, "/") {
		out.Repository, out.Tag = out.Repository[:at], out.Repository[at+1:]
	}
	if out.Repository == "" || out.Tag == "" && out.Digest == "" || out.Digest != "" && !strings.HasPrefix(out.Digest, "sha256:") || strings.ContainsAny(text, " \t") {
		return nil, cli.Usage("--image %q: want REPOSITORY:TAG or REPOSITORY@sha256:DIGEST", text)
	}
	return &out, nil
}

// chartValues are those with which the chart follows the repository with the rights that this command gave.
func (b *bootstrap) chartValues(secret string) chartValues {
	o := b.f.Git.Options
	out := chartValues{Image: b.parsed, Git: chartGit{URL: o.Repo, Ref: o.Ref, Path: o.Path, ExistingSecret: secret}, Config: map[string]any{}}
	if b.f.Management.Owner != object.DefaultOwner {
		out.Owner = b.f.Management.Owner
	}
	if images := b.f.Management.Images; len(images) > 0 {
		out.Config["allow-controller-image"] = images
	}
	for key, value := range map[string]bool{"allow-file-repo": o.Allow.File, "allow-insecure-repo": o.Allow.Insecure} {
		if value {
			out.Config[key] = true
		}
	}
	for key, value := range map[string][]string{"include": o.Include, "exclude": o.Exclude} {
		if len(value) > 0 {
			out.Config[key] = value
		}
	}
	return out
}

func (v chartValues) text() (string, error) {
	text, err := yaml.Marshal(v)
	return string(text), err
}

package main

import (
	"archive/tar"
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"os"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

const (
	user       = "65532" // "nonroot" of distroless images, which deployments with runAsNonRoot know
	entrypoint = "/usr/bin/linkwright"
	caBundle   = "/etc/ssl/certs/ca-certificates.crt"
)

// Index returns the image index of programs, one image for each.
func Index(programs []Program) (v1.ImageIndex, error) {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, p := range programs {
		image, err := Image(p)
		if err != nil {
			return nil, fmt.Errorf("image for %s: %w", p.Platform, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &p.Platform}})
	}
	return mutate.Annotations(index, labels(programs[0])).(v1.ImageIndex), nil
}

// Image returns the image of a program. Its first layer, with the CA certificates, seldom changes from one version to the next.
// Time zones are in the program itself.
func Image(p Program) (v1.Image, error) {
	program, err := os.ReadFile(p.Path)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	for _, l := range []struct {
		entries []entry
		by      string
	}{{system(), "base files"}, {programEntries(program), "linkwright"}} {
		layer, err := layer(l.entries, p.Time)
		if err != nil {
			return nil, err
		}
		image, err = mutate.Append(image, mutate.Addendum{Layer: layer, History: v1.History{CreatedBy: l.by, Created: v1.Time{Time: p.Time}}})
		if err != nil {
			return nil, err
		}
	}
	return configured(image, p)
}

func configured(image v1.Image, p Program) (v1.Image, error) {
	file, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	file = file.DeepCopy()
	file.OS, file.Architecture, file.Created = p.Platform.OS, p.Platform.Architecture, v1.Time{Time: p.Time}
	file.Config = v1.Config{
		User: user + ":" + user, Entrypoint: []string{entrypoint}, WorkingDir: "/", Labels: labels(p),
		Env: []string{"PATH=/usr/bin", "SSL_CERT_FILE=" + caBundle},
	}
	return mutate.ConfigFile(image, file)
}

// labels are the keys of the OCI image specification for what the image is and where it is from. Policies of clusters ask for them.
func labels(p Program) map[string]string {
	revision := p.Revision
	if p.Modified {
		revision += "-dirty"
	}
	return map[string]string{
		"org.opencontainers.image.title":       "linkwright",
		"org.opencontainers.image.description": "GitOps for Linkerd multicluster",
		"org.opencontainers.image.source":      "https://" + p.Info.Main.Path,
		"org.opencontainers.image.version":     p.Info.Main.Version,
		"org.opencontainers.image.revision":    revision,
		"org.opencontainers.image.created":     p.Time.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    license,
	}
}

// entry is a file of a layer, or a directory if its name ends in a slash.
type entry struct {
	name string
	mode int64
	body []byte
}

// system are the files around the program: who user 65532 is, where programs write what is temporary, and whom to trust.
func system() []entry {
	return []entry{
		{name: "etc/", mode: 0o755},
		{name: "etc/passwd", mode: 0o644, body: []byte("root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:" + user + ":" + user + ":nonroot:/home/nonroot:/sbin/nologin\n")},
		{name: "etc/group", mode: 0o644, body: []byte("root:x:0:\nnonroot:x:" + user + ":\n")},
		{name: "etc/ssl/", mode: 0o755},
		{name: "etc/ssl/certs/", mode: 0o755},
		{name: caBundle[1:], mode: 0o644, body: roots()},
		{name: "tmp/", mode: 0o1777},
	}
}

func programEntries(program []byte) []entry {
	return []entry{{name: "usr/", mode: 0o755}, {name: "usr/bin/", mode: 0o755}, {name: entrypoint[1:], mode: 0o755, body: program}}
}

// roots are the certificates that Mozilla trusts without conditions, in PEM, as the Go project publishes them. Those with a condition,
// such as "not for certificates issued after a date", are left out: a PEM file cannot hold the condition.
func roots() []byte {
	var out bytes.Buffer
	for r := range bundle.Roots() {
		if r.Constraint == nil {
			_ = pem.Encode(&out, &pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate}) // a buffer takes everything
		}
	}
	return out.Bytes()
}

// layer packs entries, all of one time and of root.
func layer(entries []entry, at time.Time) (v1.Layer, error) {
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for _, e := range entries {
		h := &tar.Header{Name: e.name, Mode: e.mode, Size: int64(len(e.body)), ModTime: at, Typeflag: tar.TypeReg, Format: tar.FormatPAX}
		if e.body == nil {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, err
		}
		if _, err := w.Write(e.body); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	open := func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(out.Bytes())), nil }
	return tarball.LayerFromOpener(open, tarball.WithMediaType(types.OCILayer))
}

// unpacked is the size of all files of an image, in bytes.
func unpacked(image v1.Image) (int64, error) {
	layers, err := image.Layers()
	if err != nil {
		return 0, err
	}
	var sum int64
	for _, l := range layers {
		r, err := l.Uncompressed()
		if err != nil {
			return 0, err
		}
		n, err := io.Copy(io.Discard, r)
		if err := r.Close(); err != nil {
			return 0, err
		}
		if err != nil {
			return 0, err
		}
		sum += n
	}
	return sum, nil
}

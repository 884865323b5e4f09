package main

import (
	"context"
	"fmt"
	"io"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/partial"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// reference parses where to push to. No text is no push.
func reference(text string) (name.Reference, error) {
	if text == "" {
		return nil, nil
	}
	ref, err := name.ParseReference(text, name.StrictValidation)
	if err != nil {
		return nil, fmt.Errorf("-push %q: %w (write REGISTRY/REPOSITORY:TAG)", text, err)
	}
	if _, ok := ref.(name.Digest); ok {
		return nil, fmt.Errorf("-push %q: a digest follows from what is pushed; write a tag", text)
	}
	return ref, nil
}

// pushAll pushes the image of each program, its SBOM as a referrer of that image (OCI 1.1), and last the index, so that the tag never shows
// an image without its SBOM.
func pushAll(ctx context.Context, ref name.Reference, programs []Program, stdout io.Writer) error {
	to := []remote.Option{remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)}
	for _, p := range programs {
		if err := pushImage(ref.Context(), p, to); err != nil {
			return fmt.Errorf("push the image for %s: %w", p.Platform, err)
		}
	}
	index, err := Index(programs)
	if err != nil {
		return err
	}
	if err := remote.WriteIndex(ref, index, to...); err != nil {
		return fmt.Errorf("push %s: %w", ref, err)
	}
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "pushed %s@%s\n", ref, digest)
	return err
}

func pushImage(repository name.Repository, p Program, to []remote.Option) error {
	image, err := Image(p)
	if err != nil {
		return err
	}
	of, err := partial.Descriptor(image)
	if err != nil {
		return err
	}
	if err := remote.Write(repository.Digest(of.Digest.String()), image, to...); err != nil {
		return err
	}
	doc, err := SBOM(p)
	if err != nil {
		return err
	}
	attached, err := referrer(doc, *of)
	if err != nil {
		return err
	}
	digest, err := attached.Digest()
	if err != nil {
		return err
	}
	return remote.Write(repository.Digest(digest.String()), attached, to...)
}

// referrer is an artifact about an image: `oras discover` and registries show it under the image.
func referrer(doc []byte, of v1.Descriptor) (v1.Image, error) {
	artifact := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), sbomType)
	artifact, err := mutate.AppendLayers(artifact, static.NewLayer(doc, sbomType))
	if err != nil {
		return nil, err
	}
	return mutate.Subject(artifact, of).(v1.Image), nil
}

// Command image builds linkwright's container image without a container engine: an OCI index with one image for each platform.
//
//	image                     write bin/image: an OCI layout, the same as a tarball, and an SPDX SBOM for each platform
//	image -push REF           write it, and push the index and its SBOMs to a registry
//
// Two builds of one commit by one version of Go are equal byte for byte: every time in them is the time of the commit.
// Credentials for a push come from where docker, podman and ko find them: ~/.docker/config.json and its helpers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

// run builds the programs of the module in the working directory, and makes the image of them.
func run(ctx context.Context, args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	out := flags.String("out", "bin/image", "directory to write to; a layout in it is replaced")
	push := flags.String("push", "", "reference to push the index to, such as registry.example.com/linkwright:v1.2.3")
	names := flags.String("platforms", "linux/amd64,linux/arm64", "platforms to build for, separated by commas")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown arguments %q: the only inputs are flags", flags.Args())
	}
	ref, err := reference(*push)
	if err != nil {
		return err
	}
	platforms, err := parsePlatforms(*names)
	if err != nil {
		return err
	}
	programs, err := buildAll(ctx, platforms, filepath.Join(*out, "build"))
	if err != nil {
		return err
	}
	index, err := Index(programs)
	if err != nil {
		return err
	}
	if err := errors.Join(writeLayout(*out, index), writeSBOMs(*out, programs)); err != nil {
		return err
	}
	if err := summarize(stdout, *out, index); err != nil || ref == nil {
		return err
	}
	return pushAll(ctx, ref, programs, stdout)
}

func parsePlatforms(names string) ([]v1.Platform, error) {
	var out []v1.Platform
	for name := range strings.SplitSeq(names, ",") {
		p, err := v1.ParsePlatform(name)
		if err != nil || p.OS != "linux" || p.Architecture == "" {
			return nil, fmt.Errorf("-platforms: %q is not linux/ARCHITECTURE", name)
		}
		out = append(out, *p)
	}
	return out, nil
}

// summarize prints what was built and where it is.
func summarize(w io.Writer, out string, index v1.ImageIndex) error {
	digest, err := index.Digest()
	if err != nil {
		return err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return err
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s  %s, %s\n", digest, filepath.Join(out, layoutName), filepath.Join(out, archiveName))
	for _, d := range manifest.Manifests {
		image, err := index.Image(d.Digest)
		if err != nil {
			return err
		}
		size, err := unpacked(image)
		if err != nil {
			return err
		}
		fmt.Fprintf(&text, "%s  %s, %.1f MB unpacked\n", d.Digest, d.Platform, float64(size)/1e6)
	}
	_, err = io.WriteString(w, text.String())
	return err
}

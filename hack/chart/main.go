// Command chart checks and packages linkwright's Helm chart, and writes the files that are made with it.
//
//	chart              lint deploy/chart, and write bin/chart/linkwright-VERSION.tgz
//	chart -generate    write what is made of the chart, and what in it is made of the program: see Files
//
// Two packages of one chart are equal byte for byte: every time in them is the same.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"helm.sh/helm/v4/pkg/action"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "chart:", err)
		os.Exit(1)
	}
}

// run works on the repository in the working directory.
func run(args []string, stdout io.Writer) error {
	flags := flag.NewFlagSet("chart", flag.ContinueOnError)
	out := flags.String("out", "bin/chart", "directory to write the package to")
	generate := flags.Bool("generate", false, "write generated files instead")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unknown arguments %q: the only inputs are flags", flags.Args())
	}
	if *generate {
		return write(".")
	}
	if err := lint(chartDir, example()); err != nil {
		return err
	}
	file, err := pack(chartDir, *out)
	if err == nil {
		_, err = fmt.Fprintln(stdout, file)
	}
	return err
}

// write writes the generated files of a checkout.
func write(root string) error {
	files, err := Files(root)
	if err != nil {
		return err
	}
	for _, f := range files {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(root, f.Path)), 0o755); err != nil { //nolint:gosec // they are sources
			return err
		}
		if err := os.WriteFile(filepath.Join(root, f.Path), f.Text, 0o644); err != nil { //nolint:gosec // they are sources
			return err
		}
	}
	return nil
}

// lint is helm lint --strict.
func lint(dir string, values map[string]any) error {
	l := action.NewLint()
	l.Strict, l.Namespace = true, namespace
	if err := errors.Join(l.Run([]string{dir}, values).Errors...); err != nil {
		return fmt.Errorf("lint %s: %w", dir, err)
	}
	return nil
}

// pack is helm package, and returns the file that it wrote.
func pack(dir, out string) (string, error) {
	c, err := loader.LoadDir(dir)
	if err != nil {
		return "", fmt.Errorf("load %s: %w", dir, err)
	}
	c.StampModTimes(time.Date(1980, 1, 1, 0, 0, 0, 0, time.UTC))
	if err := os.MkdirAll(out, 0o755); err != nil {
		return "", err
	}
	return chartutil.Save(c, out)
}

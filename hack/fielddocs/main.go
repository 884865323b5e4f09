// Command fielddocs writes the doc comments of package api into a Go file, so that schemas, `linkwright explain` and the
// reference of declarations say what the comments say: docs_gen.go. Run it by `go generate ./api`, where it stands.
package main

import (
	"fmt"
	"os"
)

const output = "docs_gen.go"

func main() {
	text, err := generate(".")
	if err == nil {
		err = os.WriteFile(output, text, 0o644) //nolint:gosec // a source file
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "fielddocs:", err)
		os.Exit(1)
	}
}

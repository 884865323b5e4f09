package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
)

func schemaCommand() *cobra.Command {
	var dir string
	c := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of declarations, for editors",
		Long: `Print the JSON Schema of a kind, or without KIND that of any declaration, for
files that mix kinds. An editor with a YAML language server then completes,
explains and checks declarations while you write. A schema knows single
declarations only; "linkwright validate" checks whether they fit together.`,
		Example: `  linkwright schema cluster
  linkwright schema --write .schema   # then, in a declaration's first line:
  # yaml-language-server: $schema=../.schema/all.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			switch kind := strings.Join(args, ""); {
			case !c.Flags().Changed("write"):
				return printSchema(c, kind)
			case kind != "" || dir == "":
				return cli.Usage("--write writes the schemas of all kinds into a directory: linkwright schema --write DIR")
			}
			return writeSchemas(dir)
		},
	}
	c.Flags().StringVar(&dir, "write", "", "write the schemas of all kinds into this directory, and all.json for any declaration")
	return c
}

func printSchema(c *cobra.Command, kind string) error {
	schema, err := api.Schema(kind)
	if err != nil {
		return cli.Usage("%w", err)
	}
	_, err = c.OutOrStdout().Write(schema)
	return err
}

// writeSchemas writes what is public: anybody may read it.
func writeSchemas(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // schemas are no secret
		return fmt.Errorf("write schemas: %w", err)
	}
	for _, kind := range append(api.Kinds(), "") {
		schema, err := api.Schema(kind)
		if err != nil {
			return err
		}
		name := strings.ToLower(kind) + ".json"
		if kind == "" {
			name = "all.json"
		}
		if err := os.WriteFile(filepath.Join(dir, name), schema, 0o644); err != nil { //nolint:gosec // schemas are no secret
			return fmt.Errorf("write schemas: %w", err)
		}
	}
	return nil
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/cmd/linkwright/cli"
	"github.com/linkwright/linkwright/docs/schema"
	"github.com/linkwright/linkwright/sync/report/output"
)

func schemaCommand() *cobra.Command {
	var dir string
	var answer bool
	c := &cobra.Command{
		Use:   "schema [KIND]",
		Short: "Print the JSON Schema of declarations, config file, or answers",
		Long: `Print the JSON Schema of a kind, or without KIND that of any declaration, for
files that mix kinds. An editor with a YAML language server then completes,
explains and checks declarations while you write. A schema knows single
declarations only; "linkwright validate" checks whether they fit together.
Config is the schema of the config file (--config).

With --answer, KIND is that of an answer as -o json and -o yaml print it, such
as Status or LinkList. Without KIND it is the schema of any answer.`,
		Example: `  linkwright schema cluster
  linkwright schema --answer SyncReport
  linkwright schema --write .schema   # then, in a declaration's first line:
  # yaml-language-server: $schema=../.schema/all.json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			from := declarationSchemas(c.Root())
			if answer {
				from = answerSchemas()
			}
			switch kind := strings.Join(args, ""); {
			case !c.Flags().Changed("write"):
				return from.print(c, kind)
			case kind != "" || dir == "":
				return cli.Usage("--write writes the schemas of all kinds into a directory: linkwright schema --write DIR")
			}
			return from.write(dir)
		},
	}
	c.Flags().StringVar(&dir, "write", "", "write the schemas of all kinds into this directory, and all.json for any declaration")
	c.Flags().BoolVar(&answer, "answer", false, "the schemas of answers (-o json) instead of those of declarations")
	cli.WithoutVariable(c.Flags(), "answer")
	return c
}

// schemas are those of some kinds.
type schemas struct {
	kinds []string
	of    func(kind string) ([]byte, error) // without a kind: of any of them
}

// declarationSchemas are those of declarations, and of the config file, which is none.
func declarationSchemas(root *cobra.Command) schemas {
	return schemas{append(api.Kinds(), cli.ConfigKind), func(kind string) ([]byte, error) {
		if strings.EqualFold(kind, cli.ConfigKind) {
			return cli.ConfigSchema(root)
		}
		text, err := api.Schema(kind)
		if err != nil {
			err = fmt.Errorf("%w; %s is the config file", err, cli.ConfigKind)
		}
		return text, err
	}}
}

func answerSchemas() schemas {
	return schemas{output.Kinds(), func(name string) ([]byte, error) {
		if name == "" {
			return schema.Any()
		}
		kind, err := schema.Find(name)
		if err != nil {
			return nil, err
		}
		return schema.Of(kind)
	}}
}

func (s schemas) print(c *cobra.Command, kind string) error {
	text, err := s.of(kind)
	if err != nil {
		return cli.Usage("%w", err)
	}
	_, err = c.OutOrStdout().Write(text)
	return err
}

// write writes what is public: anybody may read it.
func (s schemas) write(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // schemas are no secret
		return fmt.Errorf("write schemas: %w", err)
	}
	for _, kind := range append(s.kinds, "") {
		text, err := s.of(kind)
		if err != nil {
			return err
		}
		name := "all.json"
		if kind != "" {
			name = schema.File(kind)
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil { //nolint:gosec // schemas are no secret
			return fmt.Errorf("write schemas: %w", err)
		}
	}
	return nil
}

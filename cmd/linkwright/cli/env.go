package cli

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FromEnvironment sets each flag that was not given from its variable: --git-timeout from LINKWRIGHT_GIT_TIMEOUT. A flag that may be
// repeated takes several values, separated by commas.
func FromEnvironment(c *cobra.Command) error {
	var errs []error
	c.Flags().VisitAll(func(f *pflag.Flag) {
		name := variable(f.Name)
		text, ok := os.LookupEnv(name)
		if !ok || f.Changed || f.Name == "help" {
			return
		}
		values := []string{text}
		if _, repeatable := f.Value.(pflag.SliceValue); repeatable {
			values = strings.Split(text, ",")
		}
		for _, v := range values {
			if err := c.Flags().Set(f.Name, v); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	if err := errors.Join(errs...); err != nil {
		return Usage("%w", err)
	}
	return nil
}

// variable is the name of a flag's environment variable.
func variable(flag string) string {
	return "LINKWRIGHT_" + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

package cli

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
)

const program = "linkwright"

// Program is how the program is typed: as a plugin of kubectl or an extension of linkerd, if it was started by such a name.
func Program() string {
	base := strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe")
	for _, of := range []string{"kubectl", "linkerd"} {
		if base == of+"-"+program {
			return of + " " + program
		}
	}
	return program
}

// ShowAs has usage, help and examples of a command show the program as it is typed.
func ShowAs(c *cobra.Command, name string) {
	if name == program {
		return
	}
	if !c.HasParent() {
		annotateCommand(c, cobra.CommandDisplayNameAnnotation, name)
	}
	// The name stands for the program, and for no namespace or account, at the beginning of a line or a pipe, and in quotes.
	c.Example = regexp.MustCompile(`((?m:^ +)|[|] )`+program+` `).ReplaceAllString(c.Example, "${1}"+name+" ")
	c.Long = regexp.MustCompile(`("|:  +)`+program+` `).ReplaceAllString(c.Long, "${1}"+name+" ")
}

func annotateCommand(c *cobra.Command, key, value string) {
	if c.Annotations == nil {
		c.Annotations = map[string]string{}
	}
	c.Annotations[key] = value
}

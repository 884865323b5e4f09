package complete

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/linkwright/linkwright/api"
	"github.com/linkwright/linkwright/object/reason"
	"github.com/linkwright/linkwright/sync/report"
)

// explained are the kinds, reasons and statuses, or the fields below what is typed: link.spec.controller.
func explained(c *cobra.Command, args []string, typed string) []string {
	dot := strings.LastIndex(typed, ".")
	if dot < 0 {
		out := kinds(c, args, typed)
		for _, e := range append(reason.All(), report.Words()...) {
			out = append(out, string(e.Code))
		}
		if len(out) > 0 && isKind(typed) {
			return append(out, typed+".")
		}
		return out
	}
	path := strings.Split(typed[:dot], ".")
	kind, err := api.Declaration(path[0])
	if err != nil {
		return nil
	}
	at, err := kind.Find(path[1:]...)
	if err != nil {
		return nil
	}
	var out []string
	for _, f := range at.Below() {
		word := typed[:dot+1] + f.Name
		out = append(out, word)
		if len(f.Below()) > 0 {
			out = append(out, word+".")
		}
	}
	return out
}

func isKind(word string) bool {
	_, err := api.Declaration(word)
	return err == nil
}

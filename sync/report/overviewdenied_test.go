package report

import (
	"strings"
	"testing"
)

// What is denied is said before the links, in every format, and is not as declared.
func TestDeniedIsShown(t *testing.T) {
	o := Overview{Denied: "this revision would remove 2 clusters; run linkwright approve 0123456789ab"}
	for _, f := range []Format{Text, Markdown, JSON, YAML} {
		var out strings.Builder
		if err := o.Write(&out, f); err != nil || !strings.Contains(out.String(), "linkwright approve 0123456789ab") {
			t.Errorf("%s: %v\n%s", f, err, out.String())
		}
	}
	if o.AsDeclared() {
		t.Error("something is denied, and all is as declared")
	}
}

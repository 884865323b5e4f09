package fleet

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/linkwright/linkwright/api"
)

// scalar returns a string, number or boolean of exactly the expected type. It reports YAML's guesses (1.10 is a number, on is a
// string), and never converts.
func (w *walker) scalar(n *yaml.Node, t reflect.Type, at api.Path) any {
	var want string
	switch t.Kind() {
	case reflect.String:
		want = "a string"
	case reflect.Bool:
		want = "true or false"
	case reflect.Float32, reflect.Float64:
		want = "a number"
	default:
		want = "a whole number"
	}
	v := plainValue(n)
	if !fits(v, t) {
		w.mismatch(n, at, want)
		return nil
	}
	return v
}

// fits reports whether a type can hold a plain value.
func fits(v any, t reflect.Type) bool {
	zero := reflect.Zero(t)
	switch v := v.(type) {
	case string:
		return t.Kind() == reflect.String
	case bool:
		return t.Kind() == reflect.Bool
	case int64:
		return zero.CanFloat() || zero.CanInt() && !zero.OverflowInt(v)
	case float64:
		return zero.CanFloat()
	}
	return false
}

// plainValue returns a scalar as string, bool, int64 or float64, and nil for anything else: null, timestamps, binaries, infinity, tags.
func plainValue(n *yaml.Node) any {
	var (
		whole int64
		float float64
		truth bool
	)
	if n.Kind != yaml.ScalarNode {
		return nil
	}
	switch n.ShortTag() {
	case "!!str":
		return n.Value
	case "!!bool":
		if n.Decode(&truth) == nil {
			return truth
		}
	case "!!int":
		if n.Decode(&whole) == nil {
			return whole
		}
	case "!!float":
		if n.Decode(&float) == nil && !math.IsInf(float, 0) && !math.IsNaN(float) {
			return float
		}
	}
	return nil
}

// custom returns a scalar whose type decodes itself, such as a quantity.
func (w *walker) custom(n *yaml.Node, t reflect.Type, at api.Path) any {
	if plainValue(n) == nil {
		w.mismatch(n, at, "a "+t.Name())
		return nil
	}
	v := n.Value // as written: a float64 would turn 0.1 into its neighbour
	if hasHugeExponent(v) {
		w.fail(n, at, describe(n)+" is not a valid "+t.Name(), "write it shorter")
		return nil
	}
	if err := into(v, reflect.New(t).Interface()); err != nil {
		w.fail(n, at, fmt.Sprintf("%s is not a valid %s: %v", describe(n), t.Name(), err), "")
		return nil
	}
	return v
}

// hasHugeExponent reports whether a quantity would be computed for hours: ParseQuantity rounds 1e-2000000000 digit by digit.
func hasHugeExponent(quantity string) bool {
	const longest, longestExponent = 64, len("e-999")
	e := strings.IndexAny(quantity, "eE")
	return len(quantity) > longest || e >= 0 && len(quantity)-e > longestExponent
}

// isPercentage reports whether a field holds a share of something.
func isPercentage(at api.Path) bool {
	return at[len(at)-1] == "maxLinks" || at[len(at)-1] == "maxMirrors"
}

func (w *walker) mismatch(n *yaml.Node, at api.Path, want string) {
	hint := ""
	switch {
	case want == "a string" && isDuration(at):
		hint = "write it with a unit: " + short(n.Value) + "s"
	case want == "a string" && isPercentage(at):
		hint = "write it as a percentage, such as 30%"
	case want == "a string":
		hint = quoteIt(n)
	default:
		hint = unquoteIt(n, want)
	}
	w.fail(n, at, "expected "+want+", found "+describe(n), hint)
}

// quoteIt is the hint for a text that YAML reads as something else.
func quoteIt(n *yaml.Node) string {
	switch n.ShortTag() {
	case "!!int", "!!float", "!!bool", "!!timestamp":
		return "quote it: " + strconv.Quote(short(n.Value))
	}
	return ""
}

// unquoteIt is the hint for a text in place of a number, a boolean or a mapping.
func unquoteIt(n *yaml.Node, want string) string {
	bare := yaml.Node{Kind: yaml.ScalarNode, Value: n.Value}
	switch tag := bare.ShortTag(); {
	case want == "a mapping" && n.Kind == yaml.SequenceNode:
		return "remove the dashes"
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str":
	case want == "true or false" && slices.Contains([]string{"yes", "on", "y", "true"}, strings.ToLower(n.Value)):
		return "write true"
	case want == "true or false" && slices.Contains([]string{"no", "off", "n", "false"}, strings.ToLower(n.Value)):
		return "write false"
	case tag == "!!int" && strings.HasSuffix(want, "number"):
		return "remove the quotes: " + short(n.Value)
	}
	return ""
}

// describe describes a node for a message.
func describe(n *yaml.Node) string {
	switch {
	case n == nil:
		return "nothing"
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Kind == yaml.AliasNode:
		return "an alias"
	}
	switch tag := n.ShortTag(); tag {
	case "!!str":
		return strconv.Quote(short(n.Value))
	case "!!null":
		return "null"
	case "!!int", "!!float":
		return "the number " + short(n.Value)
	case "!!bool":
		return short(n.Value)
	case "!!timestamp":
		return "the timestamp " + short(n.Value)
	default:
		return "a value of type " + short(tag)
	}
}

// short bounds quoted input in messages.
func short(text string) string {
	const most = 60
	runes := []rune(text[:min(len(text), utf8.UTFMax*(most+1))])
	if len(runes) <= most {
		return text
	}
	return string(runes[:most]) + "…"
}

package confine

import (
	"encoding/base64"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/linkwright/linkwright/render/linkerd"
)

// kubeconfig is a regular expression (RE2) for the base64 of the kubeconfigs that linkwright renders, with whatever address, CA and token.
// CEL decodes no base64, so the expression matches the encoded text: constants, each followed by one line of printable ASCII.
// Nothing else can stand there: no tokenFile, no exec, no key that names a file.
func kubeconfig() string {
	value := "(" + triple(printable, printable, printable) + ")*(" + strings.Join([]string{
		triple(lineBreak, lineBreak, lineBreak), triple(printable, lineBreak, lineBreak), triple(printable, printable, lineBreak),
	}, "|") + ")"
	var constants []string
	for _, c := range linkerd.KubeconfigConstants() {
		constants = append(constants, regexp.QuoteMeta(base64.StdEncoding.EncodeToString([]byte(c))))
	}
	return "^" + strings.Join(constants, value) + value + "$"
}

func printable(b byte) bool { return b >= ' ' && b <= '\x7f' } // YAML takes no DEL, and with it the expression is shorter
func lineBreak(b byte) bool { return b == '\n' }

// kubeconfigOf is the base64 of a Secret's kubeconfig in CEL, empty where there is none; in is what has it.
func kubeconfigOf(in string) string {
	return fmt.Sprintf("%[1]s != null && has(%[1]s.data) && %[2]s in %[1]s.data ? %[1]s.data[%[2]s] : \"\"", in, quoted(linkerd.KubeconfigKey))
}

// triple is a regular expression for the base64 of three bytes, each of a set. Of the four characters the second has bits of the first
// and the second byte, and the third of the second and the third:
//
//	xxxxxx xxyyyy yyyyzz zzzzzz
func triple(x, y, z func(byte) bool) string {
	var out []string
	for _, middle := range alike(4, func(high int) []int { return below(4, high, y) }) {
		var front, back []string
		for _, first := range alike(6, func(high int) []int { return below(2, high, x) }) {
			front = append(front, class(first.highs)+class(joined(first.lows, middle.highs, 4)))
		}
		for _, third := range alike(2, func(high int) []int { return below(6, high, z) }) {
			back = append(back, class(joined(middle.lows, third.highs, 2))+class(third.lows))
		}
		out = append(out, either(front)+either(back))
	}
	return strings.Join(out, "|")
}

// either is a regular expression for one of some.
func either(all []string) string {
	if len(all) == 1 {
		return all[0]
	}
	return "(" + strings.Join(all, "|") + ")"
}

// parted are the bytes of a set whose high bits are one of highs: all of them have the same low ones.
type parted struct{ highs, lows []int }

// alike puts high bits together that have the same low ones. Without any there is no such byte.
func alike(bits int, lows func(high int) []int) (out []parted) {
	for high := range 1 << bits {
		with := lows(high)
		i := slices.IndexFunc(out, func(p parted) bool { return slices.Equal(p.lows, with) })
		switch {
		case len(with) == 0:
		case i < 0:
			out = append(out, parted{[]int{high}, with})
		default:
			out[i].highs = append(out[i].highs, high)
		}
	}
	return out
}

// below are the low bits, so many, with which high ones make a byte of a set.
func below(bits, high int, set func(byte) bool) (out []int) {
	for low := range 1 << bits {
		if set(byte(high<<bits | low)) {
			out = append(out, low)
		}
	}
	return out
}

// joined are all numbers of one of some high bits, and one of so many low ones.
func joined(highs, lows []int, bits int) (out []int) {
	for _, high := range highs {
		for _, low := range lows {
			out = append(out, high<<bits|low)
		}
	}
	return out
}

// class is a regular expression for one of some characters of base64, by their numbers.
func class(numbers []int) string {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	if len(numbers) == len(alphabet) {
		return "."
	}
	chars := make([]byte, len(numbers))
	for i, n := range numbers {
		chars[i] = alphabet[n]
	}
	slices.Sort(chars)
	if len(chars) == 1 {
		return regexp.QuoteMeta(string(chars))
	}
	return "[" + ranged(chars) + "]"
}

// ranged writes sorted characters as ranges of a class.
func ranged(chars []byte) (out string) {
	for i := 0; i < len(chars); {
		end := i
		for end+1 < len(chars) && chars[end+1] == chars[end]+1 {
			end++
		}
		if out += string(chars[i]); end > i {
			out += "-" + string(chars[end])
		}
		i = end + 1
	}
	return out
}

package fleet

import (
	"bytes"
	"encoding/binary"
	"unicode/utf16"
	"unicode/utf8"
)

// escape begins what JSON, and YAML between double quotes, may write in place of an ASCII character.
const escape = `\u00`

// unescaped undoes such escapes of visible characters: lines stay as they are.
func unescaped(data []byte) []byte {
	out := make([]byte, 0, len(data))
	last := 0
	for at := range occurrences(data, escape) {
		digits := data[at+len(escape):]
		if len(digits) < 2 {
			break
		}
		if c := hexadecimal(digits[0])<<4 | hexadecimal(digits[1]); c > ' ' && c < 0x7f {
			out = append(append(out, data[last:at]...), c)
			last = at + len(escape) + 2
		}
	}
	return append(out, data[last:]...)
}

// hexadecimal is the value of a digit; of anything else, one that makes no visible character.
func hexadecimal(c byte) byte {
	switch {
	case '0' <= c && c <= '9':
		return c - '0'
	case 'a' <= c|' ' && c|' ' <= 'f':
		return c | ' ' - 'a' + 10
	}
	return 0xff
}

// asUTF8 takes away the marks by which editors tell how they wrote a text, and gives UTF-16 as UTF-8.
func asUTF8(data []byte) []byte {
	switch {
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return fromUTF16(data[2:], binary.LittleEndian)
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return fromUTF16(data[2:], binary.BigEndian)
	}
	return bytes.TrimPrefix(data, []byte("\xef\xbb\xbf"))
}

func fromUTF16(data []byte, order binary.ByteOrder) []byte {
	out := make([]byte, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		r := rune(order.Uint16(data))
		if utf16.IsSurrogate(r) && len(data) >= 4 {
			if pair := utf16.DecodeRune(r, rune(order.Uint16(data[2:]))); pair != utf8.RuneError {
				r, data = pair, data[2:]
			}
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}

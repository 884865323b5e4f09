package object

import (
	"bytes"
	"slices"
	"strings"
)

// Stencil makes objects that differ only in one word, which may occur anywhere in their names and strings, much
// faster than New. The zero value is not usable.
type Stencil struct {
	template    Object
	word        string
	parts       [][]byte // of the JSON, around the word
	digest      int      // where the digest's annotation begins
	wordsBefore int      // how often the word occurs before it
}

// NewStencil makes a stencil of an object that New has made; false: that is impossible. The word must need no escape
// in JSON, and occur only where another is to be filled in.
func NewStencil(o Object, word string) (Stencil, bool) {
	json := o.Body.Bytes()
	at := bytes.Index(json, digestMember(o.Digest))
	if at < 0 || word == "" || len(appendString(nil, word)) != len(word)+len(`""`) {
		return Stencil{}, false
	}
	return Stencil{
		template: o, word: word, parts: bytes.Split(json, []byte(word)),
		digest: at, wordsBefore: bytes.Count(json[:at], []byte(word)),
	}, true
}

// Fill makes the object with another word.
func (s Stencil) Fill(word string) Object {
	var few [64]byte
	escaped := appendString(few[:0], word)
	escaped = escaped[1 : len(escaped)-1]
	longer := len(escaped) - len(s.word)
	d := draft{json: make([]byte, 0, len(s.template.Body.Bytes())+longer*(len(s.parts)-1)), from: s.digest + longer*s.wordsBefore}
	d.to = d.from + len(DigestAnnotation+noDigest) + len(`"":""`)
	for i, part := range s.parts {
		if i > 0 {
			d.json = append(d.json, escaped...)
		}
		d.json = append(d.json, part...)
	}
	o := s.template
	o.Key.Namespace, o.Key.Name = strings.ReplaceAll(o.Key.Namespace, s.word, word), strings.ReplaceAll(o.Key.Name, s.word, word)
	o.Digest = d.setDigest()
	o.Body = NewBody(d.json)
	return o
}

// digestMember is the digest's annotation in an object's JSON. It occurs only once, because quotes in strings are escaped.
func digestMember(digest uint64) []byte {
	return slices.Concat(appendString(nil, DigestAnnotation), []byte(`:"`+FormatDigest(digest)+`"`))
}

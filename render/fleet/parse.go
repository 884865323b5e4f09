package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// parse returns the documents of a text one after another; a null document is none. What was given before a fault counts.
func parse(file string, data []byte, each func(parsed)) *fault {
	for dec := yaml.NewDecoder(bytes.NewReader(data)); ; {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return syntaxError(data, err)
		}
		if root := n.Content[0]; root.ShortTag() != "!!null" {
			each(parsed{file: file, root: root})
		}
	}
}

// syntaxError takes the line out of the parser's message, which is "yaml: line 3: did not find expected key".
func syntaxError(data []byte, err error) *fault {
	if f := indentationFault(data); f != nil {
		return f
	}
	line, message := 1, strings.TrimPrefix(err.Error(), "yaml: ")
	if number, rest, ok := strings.Cut(strings.TrimPrefix(message, "line "), ": "); ok {
		if n, err := strconv.Atoi(number); err == nil {
			line, message = n, rest
		}
		if strings.HasPrefix(message, "did not find expected") {
			line = min(line+1, countLines(data)) // the parser's own errors, unlike its scanner's, count lines from 0
		}
	}
	col, hint := begins(data, line)
	return &fault{line: line, col: col, message: "invalid YAML: " + message, hint: hint}
}

// begins is the column of the first word of a line, because the parser gives none; a tab before it is an invisible
// mistake, for which it returns a hint.
func begins(data []byte, line int) (col int, hint string) {
	number := 0
	for text := range bytes.Lines(data) {
		if number++; number < line {
			continue
		}
		blank := len(text) - len(bytes.TrimLeft(text, " \t"))
		if tab := bytes.IndexByte(text[:blank], '\t'); tab >= 0 {
			return tab + 1, "indent with spaces, because YAML does not allow tabs here"
		}
		return blank + 1, ""
	}
	return 1, ""
}

func countLines(data []byte) int {
	return 1 + bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n"))
}

// bounded adds a text to what was read before, and returns a fault if that exceeds a bound.
func (e *extent) bounded(data []byte) *fault {
	if f := exceedsBounds(data); f != nil {
		f.message = "cannot be read: " + f.message
		return f
	}
	f := measure(data)
	e.add(f)
	switch {
	case f.over > 0:
		return &fault{line: f.over, message: fmt.Sprintf("cannot be read: one document has more than %d words", MaxDocumentMarks), hint: "split it"}
	case e.documents > MaxDocuments:
		return &fault{message: fmt.Sprintf("cannot be read: the tree would have more than %d documents", MaxDocuments), hint: tooLargeHint}
	case e.marks > MaxMarks:
		return &fault{message: fmt.Sprintf("cannot be read: the declarations would have more than %d words", MaxMarks), hint: tooLargeHint}
	}
	return nil
}

const tooLargeHint = "declare many links with one Mesh" + OrPath

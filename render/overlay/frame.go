package overlay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A frame is the length of what follows, four bytes, the most significant first, and that many bytes of JSON.
const frameHead = 4

// errFrameTooLong says that the other side announced, or this one has to say, more than is allowed.
var errFrameTooLong = errors.New("more than is allowed")

// hello is the first frame, from parent to child: its bounds. The child knows nothing else of the world.
type hello struct {
	Memory  int64 `json:"memory"`  // bytes
	Seconds int64 `json:"seconds"` // of CPU, over the life of the child
	Bytes   int64 `json:"bytes"`   // of one frame
	Objects int   `json:"objects"` // of one result
}

// ready is the child's answer to hello: which walls stand.
type ready struct {
	Locked bool `json:"locked"` // by a filter of system calls
}

// question is one job on its way to a child; the answer bears its number, so that none is taken for another's.
type question struct {
	Number uint64 `json:"number"`
	Job    job    `json:"job"`
}

type answer struct {
	Number  uint64 `json:"number"`
	Built   built  `json:"built"`
	Error   string `json:"error,omitempty"`
	Exceeds bool   `json:"exceeds,omitempty"` // a bound is the error
}

// writeFrame sends a value in one write.
func writeFrame(w io.Writer, limit int64, v any) error {
	body, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if int64(len(body)) > limit {
		return fmt.Errorf("%d bytes: %w", len(body), errFrameTooLong)
	}
	frame := binary.BigEndian.AppendUint32(make([]byte, 0, frameHead+len(body)), uint32(len(body)))
	_, err = w.Write(append(frame, body...))
	return err
}

// readFrame reads a value. It keeps no more than limit, and allocates only for what has come. io.EOF says that there was
// no further frame.
func readFrame(r io.Reader, limit int64, v any) error {
	var head [frameHead]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	length := int64(binary.BigEndian.Uint32(head[:]))
	if length > limit {
		return fmt.Errorf("%d bytes: %w", length, errFrameTooLong)
	}
	var body bytes.Buffer
	switch n, err := io.Copy(&body, io.LimitReader(r, length)); {
	case err != nil:
		return err
	case n < length:
		return io.ErrUnexpectedEOF
	}
	return json.Unmarshal(body.Bytes(), v)
}

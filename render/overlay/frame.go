package overlay

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// A frame is a length in four bytes, the most significant first, and that many bytes of JSON.
const frameHead = 4

// errFrameTooLong means that a frame to read or to write is longer than allowed.
var errFrameTooLong = errors.New("more than is allowed")

// hello is the first frame, from parent to child: the child's limits.
type hello struct {
	Memory  int64 `json:"memory"`  // bytes
	Seconds int64 `json:"seconds"` // of CPU, over the life of the child
	Bytes   int64 `json:"bytes"`   // of one frame
	Objects int   `json:"objects"` // of one result
}

// ready is the child's response to hello: which layers of the sandbox are active.
type ready struct {
	Locked bool `json:"locked"` // by a filter of system calls
}

// request is one job for a child; the response has its number, so that it cannot be taken for another's.
type request struct {
	Number uint64 `json:"number"`
	Job    job    `json:"job"`
}

type response struct {
	Number  uint64      `json:"number"`
	Built   buildResult `json:"built"`
	Error   string      `json:"error,omitempty"`
	Exceeds bool        `json:"exceeds,omitempty"` // a bound is the error
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

// readFrame reads a value of at most limit bytes. It allocates only for what it has read. io.EOF means that there is
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

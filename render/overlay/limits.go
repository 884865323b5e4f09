package overlay

import (
	"cmp"
	"math"
	"time"
)

// Limits bound the builds of a repository. The zero value of each field is its default.
type Limits struct {
	Time    time.Duration // of one build; default 30 s
	Memory  int64         // bytes that a child may hold; default 256 MiB
	Bytes   int64         // of all files that a build reads, each as often as it is used, and of its result; default 64 MiB, at most 1 GiB
	Files   int           // that a build reads, each as often as it is used; default 10,000
	Objects int           // in the result; default 20,000
	Depth   int           // of kustomizations in one another; default 16
}

const (
	maxBytes = 1 << 30
	// maxFile is the most bytes that one file may hold.
	maxFile = 4 << 20
	// maxValues bounds what a YAML file may become in memory, by the signs that stand before or after each value.
	maxValues = 500_000
	// maxYAMLDepth is how deep mappings and lists of a file may be nested.
	maxYAMLDepth = 100
)

func (l Limits) orDefault() Limits {
	return Limits{
		Time:    cmp.Or(l.Time, 30*time.Second),
		Memory:  cmp.Or(l.Memory, 256<<20),
		Bytes:   min(cmp.Or(l.Bytes, 64<<20), maxBytes),
		Files:   cmp.Or(l.Files, 10_000),
		Objects: cmp.Or(l.Objects, 20_000),
		Depth:   cmp.Or(l.Depth, 16),
	}
}

// lifetime is how long a child may work before it gives way to a fresh one.
func (l Limits) lifetime() time.Duration { return 10 * l.Time }

func (l Limits) hello() hello {
	return hello{
		Memory:  l.Memory,
		Seconds: int64(math.Ceil(4 * (l.lifetime() + l.Time).Seconds())), // two processors, and as much again
		Bytes:   l.frame(),
		Objects: l.Objects,
	}
}

// frame is how long a frame may be: bytes are base64 in JSON, and names stand beside them.
func (l Limits) frame() int64 { return 2*l.Bytes + 1<<20 }

package recording

import "time"

// The speed of the picture: waiting is shortened, reading gets time.
const (
	pageRows = 36                      // rows of a page; a longer step has a page of its own
	together = 30 * time.Millisecond   // lines that follow so soon appear together
	maxWait  = 1500 * time.Millisecond // the longest wait
	perBurst = 200 * time.Millisecond  // to read lines that appear together
	perLine  = 150 * time.Millisecond  // and for each of them
	perPage  = time.Second             // before the next page replaces a full one
	atEnd    = 4 * time.Second         // before the picture starts again
)

// burst is a group of lines that appear together, and disappear with their page.
type burst struct {
	lines    []Line
	page     int
	row      int // of the first line
	from, to time.Duration
}

// play plans when the lines of a recording are visible, and for how long the picture runs.
func play(lines []Line) (out []burst, total time.Duration) {
	for len(lines) > 1 && lines[0].Text == "" {
		lines = lines[1:]
	}
	page, row := 0, 0
	for _, step := range steps(lines) {
		if row > 0 && row+len(step) > pageRows {
			page, row = page+1, 0
		}
		for _, lines := range bursts(step) {
			out = append(out, burst{lines: lines, page: page, row: row})
			row += len(lines)
		}
	}
	return out, schedule(out)
}

// schedule sets the times of bursts that are in order, and returns the end of the last one.
func schedule(bursts []burst) time.Duration {
	var now time.Duration
	for i := range bursts {
		b := &bursts[i]
		if i > 0 {
			before := bursts[i-1]
			read := perBurst + perLine*time.Duration(len(before.lines))
			if b.page != before.page {
				read += perPage
			}
			wait := b.lines[0].At - before.lines[len(before.lines)-1].At
			now += max(read, min(wait, maxWait))
		}
		b.from = now
	}
	total := now + atEnd
	for i := range bursts {
		bursts[i].to = total
		for _, later := range bursts[i:] {
			if later.page != bursts[i].page {
				bursts[i].to = later.from
				break
			}
		}
	}
	return total
}

// steps splits lines before each heading.
func steps(lines []Line) [][]Line {
	return split(lines, func(_, l Line) bool { return l.Kind == Heading })
}

// bursts splits lines before each line with a time or a command, and at pauses.
func bursts(lines []Line) [][]Line {
	return split(lines, func(before, l Line) bool { return l.Kind != Output || l.At-before.At > together })
}

// split begins a new slice where a function of two neighbours says so.
func split(lines []Line, begins func(before, l Line) bool) (out [][]Line) {
	first := 0
	for i := range lines {
		if i > 0 && begins(lines[i-1], lines[i]) {
			out = append(out, lines[first:i])
			first = i
		}
	}
	return append(out, lines[first:])
}

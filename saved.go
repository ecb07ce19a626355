package exactlyone

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/gob"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"

	"exactlyone/interleave"
	"exactlyone/internal/wholefile"
)

// savedVersion is the first line of a file that keeps a search: its version. A
// gob of the rest follows, and the SHA-256 of all before.
const savedVersion = "exactlyone search 1\n"

// Saved is a search, or a shard of one, that was kept in a file.
type Saved struct {
	Path   string
	System string
	Origin Origin
	Bounds Bounds

	saved
}

// saved is what is in the file.
type saved struct {
	Head   savedHead
	Random *savedRandom // a search that draws executions
	Search *savedSearch // one that tries all
}

// savedSearch is an exhaustive search.
type savedSearch struct {
	Ended      bool // nothing is left to search
	Searched   *interleave.Searched
	Exercised  savedCounted
	Increments []savedIncrement // what Searched.Counted means
}

// savedRandom is a search that draws executions; see [interleave.Sampling].
type savedRandom struct {
	Ended            bool // nothing is left to draw
	Next, Executions int
	Steps, Longest   int
	Drawn            []int
	Ends             []savedEnd
	Failed           int
	Broken           uint32
	Path             []interleave.Action
	Samples          [][]interleave.Action
	Exercised        savedCounted
	Rounds           []savedRound // of a shard
}

// savedEnd is how an execution can end, and the first two that did.
type savedEnd struct {
	Key           interleave.Key
	First, Second int
}

// savedRound is a round of a shard: steps and the longest execution up to its
// end, and what was exercised in it.
type savedRound struct {
	Steps, Longest int
	Exercised      savedCounted
}

// savedCounted is what was exercised.
type savedCounted struct {
	Counts, Struck []int
	Notes          []savedNote
	Held           uint64
}

type savedNote struct {
	What string
	N    int
}

func savedCounts(e exercised) savedCounted {
	s := savedCounted{Counts: slices.Clone(e.counts[:]), Struck: slices.Clone(e.struck[:]), Held: e.held}
	for _, what := range slices.Sorted(maps.Keys(e.notes)) {
		s.Notes = append(s.Notes, savedNote{what, e.notes[what]})
	}
	return s
}

func (s savedCounted) exercised() (e exercised) {
	copy(e.counts[:], s.Counts)
	copy(e.struck[:], s.Struck)
	for _, n := range s.Notes {
		if e.notes == nil {
			e.notes = map[string]int{}
		}
		e.notes[n.What] = n.N
	}
	e.held = s.Held
	return e
}

// note takes over how far a search has got.
func (s *savedRandom) note(from *interleave.Sampling, counted exercised, ended bool) {
	r := from.Report
	rounds := s.Rounds
	*s = savedRandom{
		Ended: ended, Next: from.Next, Executions: r.Executions, Steps: r.Steps, Longest: r.Longest,
		Failed: from.Failed, Broken: r.Broken, Path: r.Path, Samples: r.Samples,
		Exercised: savedCounts(counted), Rounds: rounds,
	}
	for _, d := range r.Drawn {
		s.Drawn = append(s.Drawn, d.Executions)
	}
	for k, t := range from.Seen {
		s.Ends = append(s.Ends, savedEnd{k, t.First, t.Second})
	}
	slices.SortFunc(s.Ends, func(a, b savedEnd) int { return cmp.Compare(a.First, b.First) })
}

// sampling is the search as it was.
func (s *savedRandom) sampling(strategies []interleave.Strategy) *interleave.Sampling {
	from := &interleave.Sampling{Next: s.Next, Failed: s.Failed, Seen: map[interleave.Key]interleave.Twice{}}
	from.Report = interleave.SampleReport{
		Executions: s.Executions, Steps: s.Steps, Longest: s.Longest, Broken: s.Broken, Path: s.Path, Samples: s.Samples,
	}
	for i, st := range strategies {
		d := interleave.Drawn{Strategy: st}
		if i < len(s.Drawn) {
			d.Executions = s.Drawn[i]
		}
		if s.Broken != 0 && s.Failed%len(strategies) == i {
			d.Failed = 1
		}
		from.Report.Drawn = append(from.Report.Drawn, d)
	}
	for _, e := range s.Ends {
		from.Seen[e.Key] = interleave.Twice{First: e.First, Second: e.Second}
	}
	return from
}

// write writes the file, whole or not at all.
func (s *saved) write(path string) error {
	return wholefile.Write(path, func(w io.Writer) error {
		sum := sha256.New()
		both := io.MultiWriter(w, sum)
		if _, err := io.WriteString(both, savedVersion); err != nil {
			return err
		}
		if err := gob.NewEncoder(both).Encode(s); err != nil {
			return err
		}
		_, err := w.Write(sum.Sum(nil))
		return err
	})
}

// ReadSaved reads a file that keeps a search. What is wrong with the file wraps
// [ErrUsage].
func ReadSaved(path string) (*Saved, error) {
	bad := func(what string) (*Saved, error) { return nil, fmt.Errorf("%w: %s: %s", ErrUsage, path, what) }
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return bad("a regular file was expected")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	first, _, _ := bytes.Cut(data[:min(len(data), 100)], []byte("\n"))
	switch {
	case !bytes.HasPrefix(data, []byte("exactlyone search ")):
		return bad("a file written by explore check --checkpoint was expected")
	case !bytes.HasPrefix(data, []byte(savedVersion)):
		return bad(fmt.Sprintf("%q was expected, found %q", savedVersion[:len(savedVersion)-1], first))
	}
	end := len(data) - sha256.Size
	if end < len(savedVersion) || sha256.Sum256(data[:end]) != [sha256.Size]byte(data[end:]) {
		return bad("the file is damaged: its checksum is wrong")
	}
	s := &Saved{Path: path}
	if err := gob.NewDecoder(bytes.NewReader(data[len(savedVersion):end])).Decode(&s.saved); err != nil {
		return bad(fmt.Sprintf("the file is damaged: %v", err))
	}
	s.System, s.Origin, s.Bounds = s.Head.System, s.Head.Origin, s.Head.Bounds
	return s, nil
}

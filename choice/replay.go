package choice

import "fmt"

// Replay answers as a recorded sequence did, and 0 once it is used up. It
// notices when the questions are not those of the recording.
type Replay struct {
	Sequence Sequence
	asked    int
	err      error
}

// Choose gives the recorded answer. Where the recording had another number of
// answers to choose from, it is remembered as [Replay.Err] and the answer is 0.
func (r *Replay) Choose(n int, label string) int {
	i := r.asked
	r.asked++
	if i >= len(r.Sequence) || r.err != nil {
		return 0
	}
	if c := r.Sequence[i]; c.Of != n || c.Answer >= n {
		r.err = fmt.Errorf("choice %d (%s): the recording chose %d of %d, now there are %d", i+1, label, c.Answer, c.Of, n)
		return 0
	}
	return r.Sequence[i].Answer
}

// Err is the first question that was not the recorded one, or that part of the
// recording was never asked for; nil if all was as recorded.
func (r *Replay) Err() error {
	if r.err == nil && r.asked < len(r.Sequence) {
		return fmt.Errorf("the run ended after %d of %d recorded choices", r.asked, len(r.Sequence))
	}
	return r.err
}

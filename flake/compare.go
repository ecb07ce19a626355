package flake

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"exactlyone/stats"
)

// CompareConfig says what to compare. The zero value compares all tests.
type CompareConfig struct {
	// Test names one test, chosen before its runs were seen, as a report shows it or by its
	// name alone. Empty compares all tests and corrects for their number.
	Test       string
	Confidence float64 // that no verdict is wrong; 0 means 0.95
	// Anytime says that the numbers of runs were not fixed beforehand: what is found then
	// holds however often somebody looks, and takes more runs to find.
	Anytime  bool
	Progress func(done, total int) // called now and then with the tests compared; may be nil
}

// The verdicts of a comparison, on the second side beside the first.
const (
	Better     Verdict = "better"
	Worse      Verdict = "worse"
	CannotTell Verdict = "cannot tell"
)

// Compared is the answer of a comparison. Its JSON is versioned by Schema.
type Compared struct {
	Schema     int            `json:"schema"` // 1
	Verdict    Verdict        `json:"verdict"`
	A          ComparedSide   `json:"a"`
	B          ComparedSide   `json:"b"`
	Confidence float64        `json:"confidence"`
	Anytime    bool           `json:"anytime"`
	Test       string         `json:"test,omitempty"` // the one named
	Tests      []ComparedTest `json:"tests"`          // worse, better, cannot tell; the least p first
	Assumes    []string       `json:"assumes"`

	sound int // suites and commands that never failed as a whole: not listed, but corrected for
}

// ComparedSide is one side of a comparison.
type ComparedSide struct {
	Name    string   `json:"name"`
	Reports int      `json:"reports"`
	Only    []string `json:"only"` // tests that ran on this side alone
}

// ComparedTest compares one test. P values are one-sided; the adjusted ones are corrected
// by Holm's method for both directions of all tests.
type ComparedTest struct {
	Identity
	Whole          bool    `json:"whole,omitempty"` // a suite or a command, which failed as a whole
	Display        string  `json:"display"`
	Verdict        Verdict `json:"verdict"`
	A              Counts  `json:"a"`
	B              Counts  `json:"b"`
	PBetter        float64 `json:"p_better"`
	PWorse         float64 `json:"p_worse"`
	AdjustedBetter float64 `json:"p_better_adjusted"`
	AdjustedWorse  float64 `json:"p_worse_adjusted"`
	Method         string  `json:"method"` // Boschloo, Fisher or anytime
	// MorePerSide says how many runs more on each side would tell rates such as those seen
	// apart: new ones, compared by themselves, with a chance of 80 %; or, anytime, runs
	// added to these, if the rates stay as seen. 0 means that the rates seen are equal, -1
	// that it takes more than MaxPerSide.
	MorePerSide int `json:"more_per_side,omitempty"`
}

// MaxPerSide is how many runs a comparison proposes at most.
const MaxPerSide = 20_000

// Counts are the runs of a test.
type Counts struct {
	Runs       int `json:"runs"`
	Failures   int `json:"failures"`
	Unfinished int `json:"unfinished,omitempty"`
	// Missing are further runs in which it did not run because its suite or the command
	// failed as a whole: like unfinished ones they count for what speaks against a verdict.
	Missing int `json:"missing,omitempty"`
}

// open are the runs of which nobody knows how the test would have ended.
func (c Counts) open() int { return c.Unfinished + c.Missing }

// Compare says of each test that ran on both sides whether it fails less often on side b
// than on side a, or more often, or whether the runs cannot tell. With the confidence
// given no verdict at all is wrong. Marks of Fix are not looked at.
//
// Tests are the same if they agree in suite, class and name, and in their labels but for
// those by which a side was chosen.
func Compare(ctx context.Context, a, b Side, c CompareConfig) (*Compared, error) {
	if c.Confidence == 0 {
		c.Confidence = 0.95
	}
	if !(c.Confidence > 0 && c.Confidence < 1) {
		return nil, fmt.Errorf("flake: confidence %v: a number between 0 and 1 was expected", c.Confidence)
	}
	out := &Compared{
		Schema: 1, Verdict: CannotTell, Confidence: c.Confidence, Anytime: c.Anytime, Test: c.Test,
		A: ComparedSide{Name: a.Name, Only: []string{}}, B: ComparedSide{Name: b.Name, Only: []string{}}, Tests: []ComparedTest{},
	}
	var chosenBy []string // keys of labels
	for _, l := range slices.Concat(a.Filter.Labels, b.Filter.Labels) {
		key, _, _ := strings.Cut(l, "=")
		chosenBy = append(chosenBy, key)
	}
	seen := map[string]bool{}
	first, err := a.read(ctx, chosenBy, seen, &out.A)
	if err != nil {
		return nil, err
	}
	second, err := b.read(ctx, chosenBy, seen, &out.B)
	if err != nil {
		return nil, err
	}
	if c.Test != "" {
		if first, second, err = chosen(first, second, c.Test); err != nil {
			return nil, err
		}
	}
	priorA, priorB := stats.Prior(a.Store.priorRate)
	x := comparer{c: c, alpha: stats.TailOf(c.Confidence), priorA: priorA, priorB: priorB, known: map[[4]int]stats.Comparison{}}
	bySecond := map[Subject]comparand{}
	for _, t := range second {
		bySecond[t.subject()] = t
	}
	for i, t := range first {
		if c.Progress != nil {
			c.Progress(i, len(first))
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		other, both := bySecond[t.subject()]
		if !both {
			if t.whole && t.readings[0].failures == 0 {
				continue
			}
			out.A.Only = append(out.A.Only, t.subject().String())
			continue
		}
		delete(bySecond, t.subject())
		if t.whole && t.readings[0].failures+other.readings[0].failures == 0 {
			out.sound++
			continue
		}
		out.Tests = append(out.Tests, x.compare(t, other))
	}
	for _, t := range second {
		if _, alone := bySecond[t.subject()]; alone && !(t.whole && t.readings[0].failures == 0) {
			out.B.Only = append(out.B.Only, t.subject().String())
		}
	}
	x.decide(out)
	if err := x.propose(ctx, out); err != nil {
		return nil, err
	}
	out.Assumes = out.assumes(a.Filter.chooses() || b.Filter.chooses())
	return out, nil
}

// comparer compares tests, equal counts once.
type comparer struct {
	c                     CompareConfig
	alpha, priorA, priorB float64
	known                 map[[4]int]stats.Comparison
}

func (x *comparer) compare(a, b comparand) ComparedTest {
	t := ComparedTest{
		Identity: a.test, Whole: a.whole, Display: a.subject().String(), Verdict: CannotTell,
		A: Counts{a.readings[0].runs, a.readings[0].failures, a.unfinished, a.missing},
		B: Counts{b.readings[0].runs, b.readings[0].failures, b.unfinished, b.missing},
	}
	for i, ra := range a.readings {
		rb := b.readings[i]
		// Where reports leave it open, each direction takes what speaks against it.
		na, nb := ra.runs+t.A.open(), rb.runs+t.B.open()
		better, method := x.test(ra.failures, na, rb.failures+t.B.open(), nb)
		worse, _ := x.test(ra.failures+t.A.open(), na, rb.failures, nb)
		t.PBetter, t.PWorse, t.Method = max(t.PBetter, better.Greater), max(t.PWorse, worse.Less), method
	}
	return t
}

// test compares two samples.
func (x *comparer) test(k1, n1, k2, n2 int) (c stats.Comparison, method string) {
	method = "Boschloo"
	switch {
	case x.c.Anytime:
		method = "anytime"
	case n1+n2 > maxBoschloo:
		method = "Fisher"
	}
	key := [4]int{k1, n1, k2, n2}
	c, ok := x.known[key]
	if ok {
		return c, method
	}
	switch {
	case k1+k2 == 0 || k1+k2 == n1+n2:
		c = stats.Comparison{Greater: 1, Less: 1, TwoSided: 1}
	case method == "anytime":
		c = stats.SequenceCompare(x.priorA, x.priorB, k1, n1, k2, n2)
	case method == "Fisher":
		c = stats.Fisher(k1, n1, k2, n2)
	default:
		c, _ = stats.Boschloo(k1, n1, k2, n2) // it takes as many runs
	}
	x.known[key] = c
	return c, method
}

// decide corrects for both directions of all tests and draws the verdicts.
func (x *comparer) decide(out *Compared) {
	var p []float64
	for _, t := range out.Tests {
		p = append(p, t.PBetter, t.PWorse)
	}
	for range 2 * out.sound {
		p = append(p, 1)
	}
	p = stats.Holm(p)
	for i := range out.Tests {
		t := &out.Tests[i]
		t.AdjustedBetter, t.AdjustedWorse = p[2*i], p[2*i+1]
		switch {
		case t.AdjustedWorse <= x.alpha:
			t.Verdict, out.Verdict = Worse, Worse
		case t.AdjustedBetter <= x.alpha:
			t.Verdict = Better
			if out.Verdict == CannotTell {
				out.Verdict = Better
			}
		}
	}
	rank := []Verdict{Worse, Better, CannotTell}
	slices.SortStableFunc(out.Tests, func(a, b ComparedTest) int {
		if d := slices.Index(rank, a.Verdict) - slices.Index(rank, b.Verdict); d != 0 {
			return d
		}
		switch pa, pb := min(a.PBetter, a.PWorse), min(b.PBetter, b.PWorse); {
		case pa < pb:
			return -1
		case pa > pb:
			return 1
		}
		return 0
	})
}

// assumes lists what the verdicts rest on.
func (out *Compared) assumes(chosen bool) []string {
	list := []string{"the runs of a test are independent and alike on each side"}
	if out.Anytime {
		list = append(list, "numbers of runs were not fixed beforehand: verdicts hold at all of them at once (universal inference)")
	} else {
		list = append(list, "numbers of runs were fixed beforehand and are looked at once: --anytime for those who look again")
	}
	if chosen {
		list = append(list, "revisions and times were not chosen for how the runs ended")
	}
	family := "the test was named before its runs were seen; both directions are corrected for (Holm)"
	if out.Test == "" {
		family = fmt.Sprintf("%s, both directions, corrected for by Holm's method", tests(len(out.Tests)))
		if out.sound > 0 {
			family = fmt.Sprintf("%s and %s that never failed as a whole, both directions, corrected for by Holm's method", tests(len(out.Tests)), suites(out.sound))
		}
	}
	missing, whole := 0, 0
	for _, t := range out.Tests {
		missing += t.A.Missing + t.B.Missing
		if t.Whole {
			whole++
		}
	}
	if whole > 0 {
		list = append(list, onWholes(whole))
	}
	if missing > 0 {
		list = append(list, "a run that a test lacks because its suite or the command failed as a whole counts against each verdict on it")
	}
	return append(list, family, fmt.Sprintf("with confidence %s no verdict is wrong", level(out.Confidence)))
}

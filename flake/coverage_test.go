package flake

import (
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"

	"exactlyone/stats"
)

// The table of docs/statistics.md: how often each bound and each rule errs, exactly where a
// sum over all outcomes says it, and in synthetic histories drawn with fixed seeds.

const coveragePath = "../docs/statistics.md"

var update = flag.Bool("update", false, "rewrite expected outputs; read the difference before committing it")

// coverageRow is a row of the table.
type coverageRow struct {
	rule, setting string
	nominal       float64 // it may err so often; 0: nothing is promised
	exact         float64 // NaN where only the simulation says it
	wrong         int
	histories     int
}

// coverage is the simulation, with a share of its histories.
type coverage struct {
	t     *testing.T
	scale int // histories are divided by it
	rows  []coverageRow
	seed  uint64
}

// histories is how many to draw of a number.
func (c *coverage) histories(n int) int { return n / c.scale }

func (c *coverage) add(r coverageRow) {
	c.rows = append(c.rows, r)
	share := float64(r.wrong) / float64(r.histories)
	sigma := func(p float64) float64 { return math.Sqrt(p * (1 - p) / float64(r.histories)) }
	if r.nominal > 0 && r.exact > r.nominal*(1+1e-9) {
		c.t.Errorf("%s, %s: it errs in %v, may in %v", r.rule, r.setting, r.exact, r.nominal)
	}
	if r.nominal > 0 && share > r.nominal+4*sigma(r.nominal) {
		c.t.Errorf("%s, %s: it errs in %d of %d histories, may in %v", r.rule, r.setting, r.wrong, r.histories, r.nominal)
	}
	if !math.IsNaN(r.exact) && math.Abs(share-r.exact) > 4*sigma(r.exact)+1e-9 {
		c.t.Errorf("%s, %s: %d of %d histories, exactly %v", r.rule, r.setting, r.wrong, r.histories, r.exact)
	}
}

// table writes the rows.
func (c *coverage) table() string {
	var b strings.Builder
	b.WriteString("| rule | setting | may err | errs, exactly | errs, simulated | histories |\n|---|---|---|---|---|---|\n")
	for _, r := range c.rows {
		may, exact := "–", "–"
		if r.nominal > 0 {
			may = stats.Percent(r.nominal)
		}
		if !math.IsNaN(r.exact) {
			exact = stats.Percent(r.exact)
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %d |\n", r.rule, r.setting, may, exact, stats.Percent(float64(r.wrong)/float64(r.histories)), r.histories)
	}
	return b.String()
}

// TestCoverage: no bound and no rule errs more often than it may, and the table says how
// often it does. With -short a tenth of the histories is drawn, and the table is not read.
func TestCoverage(t *testing.T) {
	c := &coverage{t: t, scale: 1}
	if testing.Short() {
		c.scale = 10
	}
	c.fixedBounds()
	c.sequences()
	c.certificates()
	c.gates()
	c.comparisons()
	c.bisections()
	if testing.Short() {
		return
	}
	data, err := os.ReadFile(coveragePath)
	if err != nil {
		t.Fatal(err)
	}
	const begin, end = "<!-- coverage: begin -->\n", "<!-- coverage: end -->\n"
	head, rest, ok := strings.Cut(string(data), begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		t.Fatalf("%s: the marks %q and %q were expected", coveragePath, begin, end)
	}
	now := head + begin + c.table() + end + tail
	if *update {
		if err := os.WriteFile(coveragePath, []byte(now), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if now != string(data) {
		t.Errorf("%s is out of date: run go test ./flake -run TestCoverage -update", coveragePath)
	}
}

// limits are counts of failures by the number of runs: an outcome is decided at
// low[n] failures in n runs or fewer, or at high[n] or more.
type limits struct{ low, high []int }

func noLimits(runs int) limits {
	l := limits{make([]int, runs+1), make([]int, runs+1)}
	for n := range runs + 1 {
		l.low[n], l.high[n] = -1, n+1
	}
	return l
}

// lowLimits are those at or below which certain holds, which is monotone in both counts.
func lowLimits(runs int, certain func(k, n int) bool) limits {
	l := noLimits(runs)
	k := -1
	for n := 1; n <= runs; n++ {
		for k < n && certain(k+1, n) {
			k++
		}
		l.low[n] = k
	}
	return l
}

// highLimits are those at or above which certain holds.
func highLimits(runs int, certain func(k, n int) bool) limits {
	l := noLimits(runs)
	k := 0
	for n := 1; n <= runs; n++ {
		for k <= n && !certain(k, n) {
			k++
		}
		l.high[n] = k
	}
	return l
}

// reached is the chance that a test of that rate ever is decided, if somebody looks after
// each run: a sum over all histories, by the numbers of failures.
func (l limits) reached(rate float64) float64 {
	chance := make([]float64, len(l.low)+1)
	chance[0] = 1
	sum := 0.0
	for n := 1; n < len(l.low); n++ {
		for k := n; k >= 0; k-- {
			x := chance[k] * (1 - rate)
			if k > 0 {
				x += chance[k-1] * rate
			}
			chance[k] = x
			if k <= l.low[n] || k >= l.high[n] {
				sum += x
				chance[k] = 0
			}
		}
	}
	return sum
}

// draw says whether one history, drawn run by run, is decided.
func (l limits) draw(fails func() bool) bool {
	k := 0
	for n := 1; n < len(l.low); n++ {
		if fails() {
			k++
		}
		if k <= l.low[n] || k >= l.high[n] {
			return true
		}
	}
	return false
}

// at keeps the limits at one number of runs.
func (l limits) at(runs int) limits {
	kept := noLimits(runs)
	kept.low[runs], kept.high[runs] = l.low[runs], l.high[runs]
	return kept
}

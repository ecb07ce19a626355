package flake

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"exactlyone/ingest"
)

// Series is what is known of a campaign before its first run.
type Series struct {
	Command  string   // one line
	Name     string   // of the one test, if runs write no report; empty means Command
	Revision string   // of the code under test; empty: not known
	Labels   []string // k=v, a part of the identity of every test
	Plan     Plan
	Seed     int64
	Time     time.Time
}

// Recorder stores the runs of a campaign, each in a transaction of its own as it ends.
type Recorder struct {
	Series
	Earlier Earlier // campaigns on the same revision and with the same labels

	store  *Store
	id     int64
	uid    []byte
	labels string
}

// Record begins a campaign.
func (s *Store) Record(ctx context.Context, x Series) (*Recorder, error) {
	labels, err := JoinLabels(x.Labels)
	if err != nil {
		return nil, err
	}
	x.Plan.PriorRate = s.priorRate
	x.Name = cmp.Or(x.Name, x.Command)
	r := &Recorder{Series: x, store: s, labels: labels, uid: make([]byte, 16)}
	_, _ = rand.Read(r.uid) // never fails
	err = s.write(ctx, func(tx *sql.Tx) error {
		if r.Earlier, err = loadEarlier(ctx, tx, x.Revision, labels); err != nil {
			return err
		}
		// While they run, the number of runs of this one is not fixed before anybody looks.
		row := tx.QueryRowContext(ctx, `SELECT count(*) FROM campaign
			WHERE revision = ? AND labels = ? AND finished = 0 AND (command = ? OR test_name = ?)`, x.Revision, labels, x.Command, x.Name)
		if err := row.Scan(&r.Earlier.UnderWay); err != nil {
			return err
		}
		p := x.Plan
		added, err := tx.ExecContext(ctx, `INSERT INTO campaign (uid, command, revision, labels, mode, planned, rate, allowed, confidence, seed, time, test_name)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, r.uid, x.Command, x.Revision, labels, p.Mode, p.Runs, p.Rate, p.Allowed, p.Confidence, x.Seed, micros(x.Time), x.Name)
		if err != nil {
			return err
		}
		r.id, err = added.LastInsertId()
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("flake: beginning a campaign: %w", err)
	}
	return r, nil
}

// End ends the campaign. One without a run is forgotten: nobody has seen anything of it.
// Until it ends, others of the same test do not count as the first try.
func (r *Recorder) End(ctx context.Context) error {
	err := r.store.write(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM campaign WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM process WHERE campaign = ?1);
			UPDATE campaign SET finished = 1 WHERE id = ?1`, r.id)
		return err
	})
	if err != nil {
		return fmt.Errorf("flake: ending a campaign: %w", err)
	}
	return nil
}

// Process is one run of the command.
type Process struct {
	Number   int // from 1 on
	Time     time.Time
	Seed     int64
	Ended    string    // in words, such as exit status 1
	Failed   bool      // it did not end with success
	TimedOut bool      // it was ended because it took too long
	Reports  []Written // that it wrote; without any the run is one test
	Missing  bool      // it wrote no report, though it should have
	Output   string    // kept if it failed
}

// Written is a report that a process wrote.
type Written struct {
	Name string
	Open func() (io.ReadCloser, error)
}

// Broken is a run that says nothing about tests: nothing of it is stored, and going on
// would not help.
type Broken struct {
	Reason string // one line: what is wrong, and what helps
}

func (e *Broken) Error() string { return e.Reason }

// Add stores a run and returns how each test fared. The error is a *Broken if the run says
// nothing about tests, or an *ingest.Error if a report cannot be read.
func (r *Recorder) Add(ctx context.Context, p Process) ([]Outcome, error) {
	g := Gathering{Revision: r.Revision, How: Sequential}
	if n := r.Plan.Runs; n > 0 && r.Plan.Mode != UntilFail && r.Earlier.Campaigns+r.Earlier.UnderWay == 0 {
		g.How, g.Planned = Planned, n
	}
	g.RunID = fmt.Sprintf("%x/%d", r.uid[:4], p.Number)
	g.Time, g.TimeKnown = p.Time, true
	a := &adder{ctx: ctx, labels: r.labels, run: -1, tests: map[ingest.Test]int64{}, fared: newFared(p)}
	var out []Outcome
	err := r.store.write(ctx, func(tx *sql.Tx) error {
		a.tx = tx
		if err := a.begin(fmt.Sprintf("run %d", p.Number), g); err != nil {
			return err
		}
		if err := r.read(a, p); err != nil {
			return err
		}
		var err error
		if out, err = r.outcomes(a, p); err != nil {
			return err
		}
		if err := a.end(sha256.Sum256(fmt.Appendf(nil, "campaign %x run %d", r.uid, p.Number)), g); err != nil {
			return err
		}
		return r.addProcess(a, p, out)
	})
	var broken *Broken
	var bad *ingest.Error
	if err != nil && !errors.As(err, &broken) && !errors.As(err, &bad) && ctx.Err() == nil {
		err = fmt.Errorf("flake: storing run %d: %w", p.Number, err)
	}
	return out, err
}

// read adds what the reports of a run say or, without any, how the run ended.
func (r *Recorder) read(a *adder, p Process) error {
	if p.Missing {
		a.out.Summary = ingest.Summary{Format: "exit"}
		return nil
	}
	if len(p.Reports) == 0 {
		one := ingest.Record{Test: ingest.Test{Name: r.Name}, Duration: ingest.NoDuration, Ordered: true}
		if p.Failed {
			one.Outcome, one.Message = ingest.Fail, p.Ended
		}
		a.out.Summary = ingest.Summary{Format: "exit", Sessions: []ingest.Session{{}}}
		return a.add(one)
	}
	for _, w := range p.Reports {
		in, err := w.Open()
		if err != nil {
			return err
		}
		err = a.read(in, w.Name)
		if err := errors.Join(err, in.Close()); err != nil {
			return err
		}
	}
	return a.timedOut(p)
}

// timedOut stores the tests that were running when time was up. They failed.
func (a *adder) timedOut(p Process) error {
	running := a.fared.running
	a.fared.running = nil
	for i, r := range running {
		r.Outcome = ingest.Fail
		r.Message = strings.TrimSpace(p.Ended + "\n" + r.Message)
		for _, child := range running[i+1:] {
			r.ChildFailed = r.ChildFailed || child.Test.Suite == r.Test.Suite && strings.HasPrefix(child.Test.Name, r.Test.Name+"/")
		}
		if err := a.add(r); err != nil {
			return err
		}
	}
	if p.TimedOut {
		for i := range a.out.Summary.SuiteFailures {
			if f := &a.out.Summary.SuiteFailures[i]; f.Reason == ingest.ReasonNoEnd {
				f.Reason = ingest.ReasonTimeout
			}
		}
	}
	return nil
}

// addProcess stores what belongs to the run itself.
func (r *Recorder) addProcess(a *adder, p Process, out []Outcome) error {
	var output any
	for _, o := range out {
		if o.Failed || o.Unfinished {
			output = p.Output
		}
	}
	_, err := a.tx.ExecContext(a.ctx, `INSERT INTO process VALUES (?, ?, ?, ?, ?, ?, ?)`, a.run, r.id, p.Number, p.Seed, p.Ended, output != nil, output)
	if err == nil && output != nil {
		_, err = a.tx.ExecContext(a.ctx, dropOutputs)
	}
	return err
}

// KeptOutputs is of how many failing runs the output is kept, for each test: the latest.
const KeptOutputs = 5

// dropOutputs forgets the outputs that no test needs any more. Those of runs in which no
// test failed but a suite or the command did are counted together.
var dropOutputs = fmt.Sprintf(`WITH failing AS (
		SELECT DISTINCT process.run, test FROM process JOIN attempt ON attempt.run = process.run
		WHERE output IS NOT NULL AND outcome IN (1, 3)),
	cause AS (
		SELECT run, test FROM failing UNION ALL
		SELECT run, 0 FROM process WHERE output IS NOT NULL AND run NOT IN (SELECT run FROM failing)),
	ranked AS (
		SELECT run, row_number() OVER (PARTITION BY test ORDER BY time DESC, run.id DESC) AS place FROM cause JOIN run ON run.id = run)
	UPDATE process SET output = NULL WHERE output IS NOT NULL AND run NOT IN (SELECT run FROM ranked WHERE place <= %d)`, KeptOutputs)

// loadEarlier counts the runs of campaigns on a revision, test by test. What came before
// a test was marked as fixed does not count.
func loadEarlier(ctx context.Context, tx *sql.Tx, revision, labels string) (Earlier, error) {
	e := Earlier{of: map[Subject]earlier{}}
	const ours = `process JOIN run ON run.id = process.run WHERE run.revision = ?1 AND run.labels = ?2`
	row := tx.QueryRowContext(ctx, `SELECT count(DISTINCT campaign), count(*) FROM `+ours, revision, labels)
	if err := row.Scan(&e.Campaigns, &e.Runs); err != nil || e.Runs == 0 {
		return e, err
	}
	marks, err := loadFixes(ctx, tx)
	if err != nil {
		return e, err
	}
	byID, err := loadTests(ctx, tx)
	if err != nil {
		return e, err
	}
	rows, err := tx.QueryContext(ctx, `SELECT test, run.time, max(outcome = 1), max(outcome = 3)
		FROM process JOIN run ON run.id = process.run JOIN attempt ON attempt.run = run.id
		WHERE run.revision = ?1 AND run.labels = ?2 AND attempt = 0 AND outcome <> 2 GROUP BY run.id, test`, revision, labels)
	if err != nil {
		return e, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var test, at int64
		var failed, unfinished bool
		if err := rows.Scan(&test, &at, &failed, &unfinished); err != nil {
			return e, err
		}
		if m, fixed := marks[test]; fixed && !m.takes(&run{revision: revision, time: at}) {
			continue
		}
		x := e.of[Subject{Identity: byID[test]}]
		x.add(failed, unfinished)
		e.of[Subject{Identity: byID[test]}] = x
	}
	if err := rows.Err(); err != nil {
		return e, err
	}
	return e, loadCounted(ctx, tx, wholeQuery, func(_ int64, suite, labels string, n int) {
		s := Subject{Identity: Identity{Suite: suite, Name: suite, Labels: labels}, Whole: true}
		e.of[s] = earlier{e.Runs, n, 0}
	}, revision, labels)
}

// wholeQuery counts the runs in which a suite failed that no failing test explains.
const wholeQuery = `SELECT 0, suite, ?2, count(DISTINCT f.run) FROM suite_failure f
	JOIN process ON process.run = f.run JOIN run ON run.id = f.run
	WHERE run.revision = ?1 AND run.labels = ?2 AND NOT EXISTS (
		SELECT 1 FROM attempt JOIN test ON test.id = test WHERE attempt.run = f.run AND outcome IN (1, 3) AND test.suite = f.suite)
	GROUP BY suite`

func (x *earlier) add(failed, unfinished bool) {
	x.runs++
	switch {
	case failed:
		x.failures++
	case unfinished:
		x.unfinished++
	}
}

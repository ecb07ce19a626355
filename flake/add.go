package flake

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"exactlyone/ingest"
)

// How says how the runs of a report were gathered, which decides what bounds mean.
type How string

// The ways to gather runs.
const (
	Imported   How = "imported"   // they happened to be there
	Planned    How = "planned"    // their number was fixed beforehand
	Sequential How = "sequential" // somebody looked and went on until pleased
)

// Gathering is what is known of a run beside its report.
type Gathering struct {
	RunID     string    // tells an identical report of another run from the same one
	Revision  string    // of the code under test
	Labels    []string  // k=v, a part of the identity of every test in the report
	Time      time.Time // of the run
	TimeKnown bool      // Time holds whatever the report says
	How       How       // empty means Imported
	Planned   int       // for Planned: how often each test was to run in all
}

// Ingested is what became of a report.
type Ingested struct {
	Summary                   ingest.Summary
	Known                     bool // it was there already: nothing changed
	Tests                     int
	Runs, Failures            int
	Retries, Unfinished, Skip int
}

// JoinLabels checks labels of the form k=v and writes them in order of k.
func JoinLabels(labels []string) (string, error) {
	seen := map[string]bool{}
	for _, l := range labels {
		k, v, ok := strings.Cut(l, "=")
		if !ok || k == "" || v == "" || strings.ContainsAny(l, ",\n") {
			return "", fmt.Errorf("flake: label %q: key=value without comma was expected", l)
		}
		if seen[k] {
			return "", fmt.Errorf("flake: label %s is given twice", k)
		}
		seen[k] = true
	}
	return strings.Join(slices.Sorted(slices.Values(labels)), ","), nil
}

// errKnown rolls a transaction back because the report is there already.
var errKnown = errors.New("the report is known")

// Ingest reads a report, as ingest.Open gives it, and stores what it counts. The same
// content with the same labels and RunID counts once, whoever gives it how often. A report that
// cannot be read gives an *ingest.Error, and nothing of it counts.
func (s *Store) Ingest(ctx context.Context, r io.Reader, name string, g Gathering) (Ingested, error) {
	labels, err := JoinLabels(g.Labels)
	if err != nil {
		return Ingested{}, err
	}
	if g.How == "" {
		g.How = Imported
	}
	a := &adder{ctx: ctx, labels: labels, run: -1, tests: map[ingest.Test]int64{}}
	hash := sha256.New()
	r = io.TeeReader(r, hash)
	err = s.write(ctx, func(tx *sql.Tx) error {
		a.tx = tx
		if err := a.begin(name, g); err != nil {
			return err
		}
		if err := a.read(r, name); err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, r); err != nil { // what the reader had no need of
			return err
		}
		return a.end(sha256.Sum256(fmt.Appendf(hash.Sum(nil), "%s\n%s", labels, g.RunID)), g)
	})
	if errors.Is(err, errKnown) {
		return Ingested{Summary: a.out.Summary, Known: true}, nil
	}
	if bad := (*ingest.Error)(nil); err != nil && !errors.As(err, &bad) && ctx.Err() == nil {
		err = fmt.Errorf("flake: storing %s: %w", name, err)
	}
	return a.out, err
}

// adder adds the records of one report in one transaction. It looks at the context once a
// record: a statement that watches it by itself takes a third longer.
type adder struct {
	ctx                        context.Context
	tx                         *sql.Tx
	labels                     string
	run, seq                   int64
	first                      time.Time // earliest of the records
	tests                      map[ingest.Test]int64
	attempt, findTest, addTest *sql.Stmt
	findMessage, addMessage    *sql.Stmt
	fared                      *fared // nil unless the run was made here
	out                        Ingested
}

// maxCached bounds the memory that known identities take.
const maxCached = 50_000

func (a *adder) begin(name string, g Gathering) error {
	for _, p := range []struct {
		to   **sql.Stmt
		text string
	}{
		{&a.attempt, `INSERT INTO attempt VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`},
		{&a.findTest, `SELECT id FROM test WHERE suite = ? AND class = ? AND name = ? AND labels = ?`},
		{&a.addTest, `INSERT INTO test (suite, class, name, labels) VALUES (?, ?, ?, ?)`},
		{&a.findMessage, `SELECT id FROM message WHERE text = ?`},
		{&a.addMessage, `INSERT INTO message (text) VALUES (?)`},
	} {
		var err error
		if *p.to, err = a.tx.PrepareContext(a.ctx, p.text); err != nil {
			return err
		}
	}
	result, err := a.tx.ExecContext(a.ctx, `INSERT INTO run (uid, name, format, run_id, revision, labels, time, gathered, planned, unclear, ignored)
		VALUES (x'', ?, '', ?, ?, ?, 0, ?, ?, 0, 0)`, name, g.RunID, g.Revision, a.labels, g.How, g.Planned)
	if err != nil {
		return err
	}
	a.run, err = result.LastInsertId()
	return err
}

// read adds the records of a report. There may be several in one run.
func (a *adder) read(r io.Reader, name string) error {
	before := a.out.Summary
	sum, err := ingest.Read(r, name, func(r ingest.Record) error {
		r.Session += len(before.Sessions)
		return a.add(r)
	})
	if before.Format != "" {
		sum = joined(before, sum)
	}
	a.out.Summary = sum
	return err
}

// joined is what two reports say as a whole.
func joined(a, b ingest.Summary) ingest.Summary {
	a.Sessions = append(a.Sessions, b.Sessions...)
	a.SuiteFailures = append(a.SuiteFailures, b.SuiteFailures...)
	for _, w := range b.Warnings {
		if i := slices.IndexFunc(a.Warnings, func(x ingest.Warning) bool { return x.Kind == w.Kind }); i >= 0 {
			a.Warnings[i].Count += w.Count
		} else {
			a.Warnings = append(a.Warnings, w)
		}
	}
	a.Failed = b.Failed
	a.RepeatsUnclear = a.RepeatsUnclear || b.RepeatsUnclear
	a.Records += b.Records
	a.IgnoredLines += b.IgnoredLines
	return a
}

// add is the sink of ingest.Read.
func (a *adder) add(r ingest.Record) error {
	if err := a.ctx.Err(); err != nil {
		return err
	}
	if !a.fared.keeps(r) {
		return nil
	}
	test, known := a.tests[r.Test]
	if !known {
		var err error
		if test, err = a.id(a.findTest, a.addTest, r.Test.Suite, r.Test.Class, r.Test.Name, a.labels); err != nil {
			return err
		}
		if len(a.tests) >= maxCached {
			clear(a.tests)
		}
		a.tests[r.Test] = test
	}
	var duration, message any
	if r.Duration != ingest.NoDuration {
		duration = int64(r.Duration)
	}
	if r.Message != "" && (r.Outcome == ingest.Fail || r.Outcome == ingest.Unfinished) {
		id, err := a.id(a.findMessage, a.addMessage, r.Message)
		if err != nil {
			return err
		}
		message = id
	}
	if !r.Time.IsZero() && (a.first.IsZero() || r.Time.Before(a.first)) {
		a.first = r.Time
	}
	_, err := a.attempt.Exec(a.run, a.seq, test, r.Session, r.Attempt, int(r.Outcome), r.Ordered, r.ChildFailed, duration, message)
	a.seq++
	return err
}

// id finds what is there, or adds it.
func (a *adder) id(find, add *sql.Stmt, key ...any) (int64, error) {
	var id int64
	err := find.QueryRow(key...).Scan(&id)
	if !errors.Is(err, sql.ErrNoRows) {
		return id, err
	}
	result, err := add.Exec(key...)
	if err != nil {
		return 0, err
	}
	return result.LastInsertId()
}

// end stores what is known only now, last of all the identity of the content.
func (a *adder) end(uid [sha256.Size]byte, g Gathering) error {
	sum := &a.out.Summary
	for i, x := range sum.Sessions {
		if _, err := a.tx.ExecContext(a.ctx, `INSERT INTO session VALUES (?, ?, ?, ?, ?, ?)`, a.run, i, x.Suite, x.Cached, x.MayBeRetry, x.Seed); err != nil {
			return err
		}
	}
	for i, x := range sum.SuiteFailures {
		if _, err := a.tx.ExecContext(a.ctx, `INSERT INTO suite_failure VALUES (?, ?, ?, ?)`, a.run, i, x.Suite, x.Reason); err != nil {
			return err
		}
	}
	for _, x := range sum.Warnings {
		if _, err := a.tx.ExecContext(a.ctx, `INSERT INTO warning VALUES (?, ?, ?, ?)`, a.run, x.Kind, x.Count, x.Line); err != nil {
			return err
		}
	}
	at := g.Time
	if !g.TimeKnown && !a.first.IsZero() {
		at = a.first
	}
	_, err := a.tx.ExecContext(a.ctx, `UPDATE run SET uid = ?, format = ?, time = ?, unclear = ?, ignored = ? WHERE id = ?`,
		uid[:], sum.Format, micros(at), sum.RepeatsUnclear, sum.IgnoredLines, a.run)
	if taken(err) {
		return errKnown
	}
	if err != nil {
		return err
	}
	return a.count()
}

// count sums up what was added.
func (a *adder) count() error {
	o := &a.out
	return a.tx.QueryRowContext(a.ctx, `SELECT count(DISTINCT test),
		count(*) FILTER (WHERE outcome < 2 AND attempt = 0), count(*) FILTER (WHERE outcome = 1 AND attempt = 0),
		count(*) FILTER (WHERE outcome < 2 AND attempt > 0), count(*) FILTER (WHERE outcome = 3), count(*) FILTER (WHERE outcome = 2)
		FROM attempt LEFT JOIN session ON session.run = attempt.run AND session.n = attempt.session
		WHERE attempt.run = ? AND coalesce(cached, 0) = 0`, a.run).Scan(&o.Tests, &o.Runs, &o.Failures, &o.Retries, &o.Unfinished, &o.Skip)
}

// micros is a time as the store has it. Far-off times of reports are kept in range.
func micros(t time.Time) int64 {
	if t.Year() < 1 || t.Year() > 9999 {
		return math.MaxInt32
	}
	return t.UnixMicro()
}

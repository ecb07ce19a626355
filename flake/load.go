package flake

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Filter chooses runs and tests. The zero value takes all.
type Filter struct {
	Labels       []string // k=v: runs that carry all of them
	Revisions    []string // runs of any of them
	Since, Until time.Time
	Match        func(Identity) bool // tests; nil takes all
}

// chooses says whether the filter takes some runs of a test and not others. Labels
// are part of what a test is.
func (f Filter) chooses() bool {
	return len(f.Revisions) > 0 || !f.Since.IsZero() || !f.Until.IsZero()
}

// run is one report of the store.
type run struct {
	id                       int64
	uid                      string // see schema.go
	name, format, runID      string
	revision, labels         string
	time                     int64
	how                      How
	planned                  int
	campaign                 int64  // 0: it was not made here
	command                  string // name of what failed as a whole if the command does; empty likewise
	unclear                  bool
	sessions                 []session
	counts                   bool // the filter takes it
	ran, failed, suiteFailed bool // a test did that counts; a first attempt failed; a suite did
	unsure                   bool // a test is unfinished
}

type session struct{ cached, mayBeRetry bool }

// record is one attempt, as compact as a million of them should be.
type record struct {
	test             int64
	session, attempt int32
	outcome          uint8
	ordered, child   bool
	message          int64 // 0: none
}

// loadRuns reads all runs in order of their time, and among equals of their names and content,
// so that the order in which stores were merged does not show.
func (s *Store) loadRuns(ctx context.Context, tx *sql.Tx, f Filter) ([]run, error) {
	rows, err := tx.QueryContext(ctx, `SELECT run.id, run.uid, run.name, format, run_id, run.revision, run.labels, run.time, gathered, run.planned, run.unclear, coalesce(campaign, 0), coalesce(test_name, '')
		FROM run LEFT JOIN process ON process.run = run.id LEFT JOIN campaign ON campaign.id = campaign ORDER BY run.time, run.name, run.uid`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var runs []run
	byID := map[int64]int{}
	for rows.Next() {
		var r run
		if err := rows.Scan(&r.id, &r.uid, &r.name, &r.format, &r.runID, &r.revision, &r.labels, &r.time, &r.how, &r.planned, &r.unclear, &r.campaign, &r.command); err != nil {
			return nil, err
		}
		r.counts = f.takes(r)
		byID[r.id] = len(runs)
		runs = append(runs, r)
	}
	if err := rows.Err(); err != nil {
		return nil, err
	}
	return runs, loadSessions(ctx, tx, runs, byID)
}

func loadSessions(ctx context.Context, tx *sql.Tx, runs []run, byID map[int64]int) error {
	rows, err := tx.QueryContext(ctx, `SELECT run, cached, may_be_retry FROM session ORDER BY run, n`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var id int64
		var x session
		if err := rows.Scan(&id, &x.cached, &x.mayBeRetry); err != nil {
			return err
		}
		r := &runs[byID[id]]
		r.sessions = append(r.sessions, x)
	}
	return rows.Err()
}

func (f Filter) takes(r run) bool {
	labels := strings.Split(r.labels, ",")
	for _, l := range f.Labels {
		if !slices.Contains(labels, l) {
			return false
		}
	}
	at := time.UnixMicro(r.time)
	return (len(f.Revisions) == 0 || slices.Contains(f.Revisions, r.revision)) &&
		(f.Since.IsZero() || !at.Before(f.Since)) && (f.Until.IsZero() || at.Before(f.Until))
}

// records calls each with every attempt of a run, in the order of the report.
func (s *Store) records(ctx context.Context, st *sql.Stmt, run int64, each func(record)) error {
	rows, err := st.QueryContext(ctx, run)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var text sql.RawBytes
	for rows.Next() {
		if err := rows.Scan(&text); err != nil {
			return err
		}
		parseRecords(text, each)
	}
	return rows.Err()
}

// recordsQuery puts attempts into texts of 16384: handing over each row by itself
// takes four times as long.
const recordsQuery = `SELECT group_concat(test || ' ' || session || ' ' || attempt || ' ' ||
	(outcome + 4 * ordered + 8 * child_failed) || ' ' || coalesce(message, 0), ' ' ORDER BY seq)
	FROM attempt WHERE run = ? GROUP BY seq / 16384 ORDER BY seq / 16384`

func parseRecords(text []byte, each func(record)) {
	var field [5]int64
	i := 0
	for _, c := range append(text, ' ') {
		if c != ' ' {
			field[i] = field[i]*10 + int64(c-'0')
			continue
		}
		if i++; i == len(field) {
			flags := field[3]
			each(record{
				test: field[0], session: int32(field[1]), attempt: int32(field[2]),
				outcome: uint8(flags & 3), ordered: flags&4 != 0, child: flags&8 != 0, message: field[4],
			})
			field, i = [5]int64{}, 0
		}
	}
}

// loadTests reads the identities.
func loadTests(ctx context.Context, tx *sql.Tx) (map[int64]Identity, error) {
	rows, err := tx.QueryContext(ctx, `SELECT id, suite, class, name, labels FROM test`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	tests := map[int64]Identity{}
	for rows.Next() {
		var id int64
		var t Identity
		if err := rows.Scan(&id, &t.Suite, &t.Class, &t.Name, &t.Labels); err != nil {
			return nil, err
		}
		tests[id] = t
	}
	return tests, rows.Err()
}

// identities are all tests of the store, in no order.
func (s *Store) identities(ctx context.Context) ([]Identity, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	tests, err := loadTests(ctx, tx)
	return slices.Collect(maps.Values(tests)), err
}

// Count says how many reports a filter takes, whatever their tests.
func (s *Store) Count(ctx context.Context, f Filter) (n int, err error) {
	runs, err := s.allRuns(ctx, f)
	for _, r := range runs {
		if r.counts {
			n++
		}
	}
	return n, err
}

// Revisions says how many reports the store has of each revision.
func (s *Store) Revisions(ctx context.Context) (map[string]int, error) {
	runs, err := s.allRuns(ctx, Filter{})
	count := map[string]int{}
	for _, r := range runs {
		count[r.revision]++
	}
	return count, err
}

// allRuns reads all runs in a transaction of its own.
func (s *Store) allRuns(ctx context.Context, f Filter) ([]run, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	defer func() { _ = tx.Rollback() }()
	runs, err := s.loadRuns(ctx, tx, f)
	if err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	return runs, nil
}

// loadMessages reads the failure messages asked for.
func loadMessages(ctx context.Context, tx *sql.Tx, wanted map[int64]string) error {
	st, err := tx.PrepareContext(ctx, `SELECT text FROM message WHERE id = ?`)
	if err != nil {
		return err
	}
	for id := range wanted {
		var text string
		if err := st.QueryRowContext(ctx, id).Scan(&text); err != nil {
			return err
		}
		wanted[id] = text
	}
	return nil
}

// mark is where the count of a test starts anew.
type mark struct {
	revision string
	marked   int64 // when, microseconds
	from     int64 // time of the first run of the revision, or marked
}

// loadFixes reads the latest mark of each test.
func loadFixes(ctx context.Context, tx *sql.Tx) (map[int64]mark, error) {
	rows, err := tx.QueryContext(ctx, `SELECT test, fix.revision, fix.time, coalesce(min(run.time), fix.time)
		FROM fix LEFT JOIN run ON run.revision = fix.revision GROUP BY test, fix.revision ORDER BY fix.time, fix.revision`)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	marks := map[int64]mark{}
	for rows.Next() {
		var id int64
		var m mark
		if err := rows.Scan(&id, &m.revision, &m.marked, &m.from); err != nil {
			return nil, err
		}
		marks[id] = m
	}
	return marks, rows.Err()
}

// takes says whether a run counts since the mark.
func (m mark) takes(r *run) bool { return r.revision == m.revision || r.time >= m.from }

// loadCounted reads what was noted about runs as a whole: suites that failed, or
// warnings.
func loadCounted(ctx context.Context, tx *sql.Tx, query string, each func(run int64, a, b string, n int), args ...any) error {
	rows, err := tx.QueryContext(ctx, query, args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var run int64
		var a, b string
		var n int
		if err := rows.Scan(&run, &a, &b, &n); err != nil {
			return err
		}
		each(run, a, b, n)
	}
	return rows.Err()
}

package flake

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
)

// Failure is a run in which a test failed, and what is left of what was printed.
type Failure struct {
	Test     Identity `json:"test"`
	Display  string   `json:"display"`
	Run      string   `json:"run"` // its name: "run 17", or the name of the report
	Command  string   `json:"command,omitempty"`
	Revision string   `json:"revision,omitempty"`
	Time     string   `json:"time"`               // RFC 3339, UTC
	Ended    string   `json:"ended,omitempty"`    // how the process ended
	Seed     int64    `json:"seed,omitempty"`     // FLAKESTAT_SEED of the run
	Shuffle  int64    `json:"shuffle,omitempty"`  // seed that go test -shuffle printed
	Messages []string `json:"messages,omitempty"` // of the failed attempts
	// Output is what the command printed, of the latest failing runs of each test.
	Output string `json:"output,omitempty"`
}

// Show returns the latest runs in which a test failed or did not end, the latest first,
// and how many there are in all. The test is named as for Fix; the name of a suite or a
// command that failed as a whole will do as well.
func (s *Store) Show(ctx context.Context, name string, most int) (list []Failure, all int, err error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, 0, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	defer func() { _ = tx.Rollback() }()
	if list, all, err = showWhole(ctx, tx, name, most); err == nil && all == 0 {
		list, all, err = showTest(ctx, tx, name, most)
	}
	if err != nil {
		return nil, 0, fmt.Errorf("flake: %w", plain(err))
	}
	return list, all, nil
}

// Tests are all tests of the store, in order of their names.
func (s *Store) Tests(ctx context.Context) ([]Identity, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	defer func() { _ = tx.Rollback() }()
	byID, err := loadTests(ctx, tx)
	if err != nil {
		return nil, fmt.Errorf("flake: reading %s: %w", s.path, plain(err))
	}
	return slices.SortedFunc(maps.Values(byID), compareTests), nil
}

const showColumns = `run.name, coalesce(command, ''), run.revision, run.time, coalesce(ended, ''), coalesce(process.seed, 0), coalesce(output, '')`

const showFrom = ` JOIN run ON run.id = f.run LEFT JOIN process ON process.run = run.id LEFT JOIN campaign ON campaign.id = process.campaign
	ORDER BY run.time DESC, run.id DESC`

// showTest is Show for a test.
func showTest(ctx context.Context, tx *sql.Tx, name string, most int) (list []Failure, all int, err error) {
	ids, found, err := named(ctx, tx, name)
	if err != nil {
		return nil, 0, err
	}
	for i, id := range ids {
		rows, err := tx.QueryContext(ctx, `SELECT messages, coalesce(session.seed, 0), `+showColumns+`
			FROM (SELECT run, session, json_group_array(text ORDER BY seq) FILTER (WHERE text IS NOT NULL) AS messages
				FROM attempt LEFT JOIN message ON message.id = message WHERE test = ? AND outcome IN (1, 3) GROUP BY run) AS f
			LEFT JOIN session ON session.run = f.run AND session.n = f.session`+showFrom, id)
		if err != nil {
			return nil, 0, err
		}
		of := 0
		for rows.Next() {
			if of++; of > most {
				continue
			}
			x := Failure{Test: found[i], Display: found[i].String()}
			var messages string
			var at int64
			if err := rows.Scan(&messages, &x.Shuffle, &x.Run, &x.Command, &x.Revision, &at, &x.Ended, &x.Seed, &x.Output); err != nil {
				return nil, 0, err
			}
			x.Time = stamp(at)
			if err := json.Unmarshal([]byte(messages), &x.Messages); err != nil {
				return nil, 0, err
			}
			list = append(list, x)
		}
		if err := rows.Close(); err != nil {
			return nil, 0, err
		}
		all += of
	}
	return list, all, nil
}

// showWhole is Show for a suite or a command.
func showWhole(ctx context.Context, tx *sql.Tx, name string, most int) (list []Failure, all int, err error) {
	rows, err := tx.QueryContext(ctx, `SELECT reason, `+showColumns+`
		FROM (SELECT run, min(reason) AS reason FROM suite_failure WHERE suite = ? GROUP BY run) AS f`+showFrom, name)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		if all++; all > most {
			continue
		}
		x := Failure{Test: Identity{Suite: name, Name: name}}
		x.Display = Subject{x.Test, true}.String()
		var reason string
		var at int64
		if err := rows.Scan(&reason, &x.Run, &x.Command, &x.Revision, &at, &x.Ended, &x.Seed, &x.Output); err != nil {
			return nil, 0, err
		}
		x.Time, x.Messages = stamp(at), []string{"failed without a failing test: " + reason}
		list = append(list, x)
	}
	return list, all, rows.Err()
}

// WriteText writes the run for a terminal: what the test printed or, if whole is set or
// no more is known, what the command did.
func (f *Failure) WriteText(w io.Writer, o TextOptions, whole bool) error {
	t := &text{w: w, color: o.Color}
	t.printf("%s\n", t.bold(printable(f.Display)+": "+f.about()))
	own := strings.Join(f.Messages, "\n")
	if f.Output != "" && (whole || own == "" || own == f.Ended) {
		own = f.Output
	} else if whole && f.Output == "" {
		t.printf("  (the output of this run is not kept)\n")
	}
	for line := range strings.Lines(strings.TrimRight(own, "\n")) {
		t.printf("  %s\n", printableLine(line))
	}
	t.printf("\n")
	return t.err
}

// about says which run it was.
func (f *Failure) about() string {
	parts := []string{f.Run}
	if f.Ended != "" {
		parts = append(parts, f.Ended)
	}
	parts = append(parts, f.Time)
	if f.Revision != "" {
		parts = append(parts, "revision "+f.Revision)
	}
	if f.Seed != 0 {
		parts = append(parts, fmt.Sprintf("FLAKESTAT_SEED %d", f.Seed))
	}
	if f.Shuffle != 0 {
		parts = append(parts, fmt.Sprintf("shuffled by %d", f.Shuffle))
	}
	return printable(strings.Join(parts, ", "))
}

// printableLine is printable, but for tabs and the end of the line.
func printableLine(line string) string {
	parts := strings.Split(strings.TrimRight(line, "\r\n"), "\t")
	for i := range parts {
		parts[i] = printable(parts[i])
	}
	return strings.Join(parts, "\t")
}

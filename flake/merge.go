package flake

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"os"
	"slices"
	"time"
)

// Merged is what a merge brought.
type Merged struct {
	Runs  int // that were not there yet
	Known int // that were
}

// Merge adds all runs and fixes of the store at path. What is there already, by the
// content of its report, is left as it is, so merging again changes nothing.
func (s *Store) Merge(ctx context.Context, path string) (Merged, error) {
	mine, err := os.Stat(s.path)
	if err != nil {
		return Merged{}, fmt.Errorf("flake: %w", err)
	}
	if theirs, err := os.Stat(path); err == nil && os.SameFile(mine, theirs) {
		return Merged{}, fmt.Errorf("flake: %s cannot be merged into itself", path)
	}
	other, err := Open(ctx, path, Options{}) // brings it to this version, too
	if err != nil {
		return Merged{}, err
	}
	if err := other.Close(); err != nil {
		return Merged{}, fmt.Errorf("flake: closing %s: %w", path, err)
	}
	if _, err := s.db.ExecContext(ctx, `ATTACH ? AS other`, dsn(path)); err != nil {
		return Merged{}, fmt.Errorf("flake: opening %s: %w", path, plain(err))
	}
	var m Merged
	err = s.write(ctx, func(tx *sql.Tx) error {
		for _, step := range mergeSteps {
			if _, err := tx.ExecContext(ctx, step); err != nil {
				return err
			}
		}
		var all int
		if err := tx.QueryRowContext(ctx, `SELECT (SELECT count(*) FROM fresh), (SELECT count(*) FROM other.run)`).Scan(&m.Runs, &all); err != nil {
			return err
		}
		m.Known = all - m.Runs
		_, err := tx.ExecContext(ctx, `DROP TABLE fresh`)
		return err
	})
	if _, detach := s.db.ExecContext(context.WithoutCancel(ctx), `DETACH other`); err == nil {
		err = detach
	}
	if err != nil {
		return Merged{}, fmt.Errorf("flake: merging %s: %w", path, plain(err))
	}
	return m, nil
}

// mergeSteps copy from the attached store. Numbers are local to a store: those of
// runs, tests and messages are looked up by what they stand for.
var mergeSteps = []string{
	`CREATE TEMP TABLE fresh AS SELECT uid, id AS theirs FROM other.run WHERE uid NOT IN (SELECT uid FROM main.run)`,
	`INSERT INTO main.run (uid, name, format, run_id, revision, labels, time, gathered, planned, unclear, ignored)
		SELECT uid, name, format, run_id, revision, labels, time, gathered, planned, unclear, ignored
		FROM other.run WHERE id IN (SELECT theirs FROM fresh) ORDER BY id`,
	`INSERT OR IGNORE INTO main.test (suite, class, name, labels) SELECT suite, class, name, labels FROM other.test ORDER BY id`,
	`INSERT OR IGNORE INTO main.message (text) SELECT text FROM other.message ORDER BY id`,
	`INSERT INTO main.attempt
		SELECT r.id, a.seq, t.id, a.session, a.attempt, a.outcome, a.ordered, a.child_failed, a.duration, m.id
		FROM fresh f JOIN main.run r ON r.uid = f.uid JOIN other.attempt a ON a.run = f.theirs
		JOIN other.test o ON o.id = a.test
		JOIN main.test t ON t.suite = o.suite AND t.class = o.class AND t.name = o.name AND t.labels = o.labels
		LEFT JOIN other.message x ON x.id = a.message LEFT JOIN main.message m ON m.text = x.text`,
	`INSERT INTO main.session SELECT r.id, s.n, s.suite, s.cached, s.may_be_retry, s.seed
		FROM fresh f JOIN main.run r ON r.uid = f.uid JOIN other.session s ON s.run = f.theirs`,
	`INSERT INTO main.suite_failure SELECT r.id, s.n, s.suite, s.reason
		FROM fresh f JOIN main.run r ON r.uid = f.uid JOIN other.suite_failure s ON s.run = f.theirs`,
	`INSERT INTO main.warning SELECT r.id, w.kind, w.count, w.line
		FROM fresh f JOIN main.run r ON r.uid = f.uid JOIN other.warning w ON w.run = f.theirs`,
	`INSERT OR IGNORE INTO main.campaign (uid, command, revision, labels, mode, planned, rate, allowed, confidence, seed, time, test_name, finished)
		SELECT uid, command, revision, labels, mode, planned, rate, allowed, confidence, seed, time, test_name, 1 FROM other.campaign ORDER BY id`,
	`INSERT INTO main.process SELECT r.id, c.id, p.number, p.seed, p.ended, p.failed, p.output
		FROM fresh f JOIN main.run r ON r.uid = f.uid JOIN other.process p ON p.run = f.theirs
		JOIN other.campaign o ON o.id = p.campaign JOIN main.campaign c ON c.uid = o.uid`,
	dropOutputs,
	`INSERT INTO main.fix SELECT t.id, f.revision, f.time FROM other.fix f JOIN other.test o ON o.id = f.test
		JOIN main.test t ON t.suite = o.suite AND t.class = o.class AND t.name = o.name AND t.labels = o.labels
		WHERE true ON CONFLICT DO UPDATE SET time = max(time, excluded.time)`,
}

// Fix starts the count of a test anew: from the first run of the revision on or, if
// there is none yet, from the given time on. What came before stays in the store.
// The test is named as a report shows it, or by its name alone if that is enough.
// It returns the tests that were marked: one, or the same one under several labels.
func (s *Store) Fix(ctx context.Context, name, revision string, at time.Time) ([]Identity, error) {
	if revision == "" {
		return nil, fmt.Errorf("flake: marking %s as fixed: a revision was expected", name)
	}
	var marked []Identity
	err := s.write(ctx, func(tx *sql.Tx) error {
		ids, found, err := named(ctx, tx, name)
		if err != nil {
			return err
		}
		marked = found
		for _, id := range ids {
			_, err := tx.ExecContext(ctx, `INSERT INTO fix VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET time = excluded.time`, id, revision, micros(at))
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("flake: %w", err)
	}
	return marked, nil
}

// named finds a test in all its labels.
func named(ctx context.Context, tx *sql.Tx, name string) (ids []int64, found []Identity, err error) {
	byID, err := loadTests(ctx, tx)
	if err != nil {
		return nil, nil, err
	}
	all := slices.Sorted(maps.Keys(byID))
	tests := make([]Identity, len(all))
	for i, id := range all {
		tests[i] = byID[id]
	}
	at, err := match(tests, name)
	if err == nil && len(at) == 0 {
		err = fmt.Errorf("test %q: no such test is in the store", name)
	}
	for _, i := range at {
		ids, found = append(ids, all[i]), append(found, tests[i])
	}
	return ids, found, err
}

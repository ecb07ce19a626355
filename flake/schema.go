package flake

import (
	"context"
	"database/sql"
	"fmt"
)

// applicationID marks a database as a store: "flks" in ASCII.
const applicationID = 0x666c6b73

// migrations bring a store from each version to the next. The version is kept in
// PRAGMA user_version. A released step is never changed.
//
//	run ──< session            a run is one report; a session one test process
//	run ──< attempt >── test   first attempts are number 0, retries 1, 2, …
//	        attempt >── message
//	test ──< fix               where the count starts anew
//	campaign ──< process ── run   the runs that "flakestat run" made itself
var migrations = []string{
	`
CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE run (
	id       INTEGER PRIMARY KEY,
	uid      BLOB NOT NULL UNIQUE, -- SHA-256 of the content, labels and run id
	name     TEXT NOT NULL,        -- of the report
	format   TEXT NOT NULL,
	run_id   TEXT NOT NULL,
	revision TEXT NOT NULL,
	labels   TEXT NOT NULL,        -- k=v,k=v in order of k
	time     INTEGER NOT NULL,     -- microseconds since 1970
	gathered TEXT NOT NULL CHECK (gathered IN ('imported', 'planned', 'sequential')),
	planned  INTEGER NOT NULL,     -- runs of each test, fixed beforehand
	unclear  INTEGER NOT NULL,     -- repeats cannot be told from retries
	ignored  INTEGER NOT NULL      -- lines that are no event
);
CREATE TABLE session (
	run INTEGER NOT NULL REFERENCES run, n INTEGER NOT NULL,
	suite TEXT NOT NULL, cached INTEGER NOT NULL, may_be_retry INTEGER NOT NULL, seed INTEGER NOT NULL,
	PRIMARY KEY (run, n)
) WITHOUT ROWID;
CREATE TABLE test (
	id INTEGER PRIMARY KEY,
	suite TEXT NOT NULL, class TEXT NOT NULL, name TEXT NOT NULL, labels TEXT NOT NULL,
	UNIQUE (suite, class, name, labels)
);
CREATE TABLE message (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
CREATE TABLE attempt (
	run INTEGER NOT NULL REFERENCES run, seq INTEGER NOT NULL,
	test INTEGER NOT NULL REFERENCES test, session INTEGER NOT NULL,
	attempt INTEGER NOT NULL,      -- 0 is the first
	outcome INTEGER NOT NULL,      -- 0 pass, 1 fail, 2 skip, 3 unfinished
	ordered INTEGER NOT NULL,      -- seq is the order in which attempts at the test ended
	child_failed INTEGER NOT NULL, -- a parent with a failing subtest
	duration INTEGER,              -- nanoseconds
	message INTEGER REFERENCES message,
	PRIMARY KEY (run, seq)
) WITHOUT ROWID;
CREATE TABLE suite_failure (
	run INTEGER NOT NULL REFERENCES run, n INTEGER NOT NULL, suite TEXT NOT NULL, reason TEXT NOT NULL,
	PRIMARY KEY (run, n)
) WITHOUT ROWID;
CREATE TABLE warning (
	run INTEGER NOT NULL REFERENCES run, kind TEXT NOT NULL, count INTEGER NOT NULL, line INTEGER NOT NULL,
	PRIMARY KEY (run, kind)
) WITHOUT ROWID;`,
	`
CREATE TABLE fix (
	test INTEGER NOT NULL REFERENCES test, revision TEXT NOT NULL,
	time INTEGER NOT NULL,         -- when it was marked, microseconds since 1970
	PRIMARY KEY (test, revision)
) WITHOUT ROWID;`,
	`
CREATE TABLE campaign (
	id         INTEGER PRIMARY KEY,
	uid        BLOB NOT NULL UNIQUE, -- random
	command    TEXT NOT NULL, revision TEXT NOT NULL, labels TEXT NOT NULL,
	mode       TEXT NOT NULL CHECK (mode IN ('count', 'certify', 'until-fail')),
	planned    INTEGER NOT NULL,     -- runs, fixed beforehand; 0 if they were not
	rate       REAL NOT NULL, allowed INTEGER NOT NULL, confidence REAL NOT NULL,
	seed       INTEGER NOT NULL,
	time       INTEGER NOT NULL      -- of its start, microseconds since 1970
);
CREATE TABLE process (
	run        INTEGER PRIMARY KEY REFERENCES run,
	campaign   INTEGER NOT NULL REFERENCES campaign, number INTEGER NOT NULL,
	seed       INTEGER NOT NULL,     -- that the process was given
	ended      TEXT NOT NULL,        -- in words: exit status 1
	failed     INTEGER NOT NULL,
	output     TEXT,                 -- of a failed one, unless later ones took its place
	UNIQUE (campaign, number)
);`,
	`
ALTER TABLE campaign ADD COLUMN test_name TEXT NOT NULL DEFAULT ''; -- of the command as a test
ALTER TABLE campaign ADD COLUMN finished INTEGER NOT NULL DEFAULT 0; -- or it is under way, or was killed
UPDATE campaign SET test_name = command, finished = 1;`,
}

// migrate makes an empty database a store, and an older store a current one. It
// runs in one transaction, so another process sees all of it or nothing.
func migrate(ctx context.Context, tx *sql.Tx, priorRate float64) error {
	var version, application, tables int
	row := tx.QueryRowContext(ctx, `SELECT (SELECT user_version FROM pragma_user_version),
		(SELECT application_id FROM pragma_application_id), (SELECT count(*) FROM sqlite_schema)`)
	if err := row.Scan(&version, &application, &tables); err != nil {
		return err
	}
	switch {
	case application != applicationID && (application != 0 || tables > 0):
		return fmt.Errorf("this is a database, but no store of flakestat")
	case version > len(migrations):
		return fmt.Errorf("the store has version %d, this flakestat knows up to %d: use a newer one", version, len(migrations))
	case version == len(migrations):
		return nil
	}
	for _, step := range migrations[version:] {
		if _, err := tx.ExecContext(ctx, step); err != nil {
			return err
		}
	}
	if version == 0 {
		if _, err := tx.ExecContext(ctx, `INSERT INTO setting VALUES ('prior_rate', ?)`, fmt.Sprint(priorRate)); err != nil {
			return err
		}
	}
	_, err := tx.ExecContext(ctx, fmt.Sprintf(`PRAGMA application_id = %d; PRAGMA user_version = %d`, applicationID, len(migrations)))
	return err
}

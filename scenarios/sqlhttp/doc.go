// Package sqlhttp asks: do plain Go handlers over database/sql, as people write
// them, show the same flaws, and are they found without changing a line of them?
//
// Its tests are the scenarios of package scenarios that SQLite can show, on files
// with a rollback journal and with a write-ahead log.
package sqlhttp

// Package simsql answers: does code over database/sql leave exactly one effect
// when its database is SQLite?
//
// The code under test is not changed. [Store] declares a database, and
// [exactlyone.Env.DB] opens it as a *sql.DB whose driver behaves as
// modernc.org/sqlite: every BEGIN, statement, COMMIT and ROLLBACK is a step, before
// which anybody else may go on, and which real SQLite carries out.
//
// What differs from a database of your own is on purpose:
//
//   - Time in SQL (CURRENT_TIMESTAMP, datetime('now'), defaults and triggers) is
//     the virtual clock; random() draws from crypto/rand.
//   - The rows of a query are fetched at once. Its lock stays until they are read
//     or closed. An INSERT … RETURNING commits at once.
//   - In WAL mode a snapshot is out of date if what is stored differs from it; two
//     commits that undo each other leave it as it was.
//   - A COMMIT that waits for readers keeps new ones out only once it has failed.
//   - Temporary tables, ATTACH, VACUUM and pragmas that simsql does not know are
//     refused, each with an error that says so.
//   - A schema that begins to look at the clock or to draw random numbers while the
//     code runs is refused: put it into the set-up.
//   - A connection knows the schema: it never finds out late that another changed it.
//   - BEGIN EXCLUSIVE on a connection that already reads, refused because somebody
//     else reads too, leaves no lock behind; SQLite keeps a part of it.
//
// A connection that one request leaves in the pool keeps its last rowid there:
// LastInsertId after an INSERT OR IGNORE that inserted nothing is somebody else's,
// as with SQLite itself.
package simsql

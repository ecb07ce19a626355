package simsql

import (
	"slices"
	"strings"
)

// verb is what a statement does to transactions.
type verb uint8

const (
	verbOther verb = iota // a statement like any other
	verbBegin
	verbCommit
	verbRollback
	verbRollbackTo
	verbSavepoint
	verbRelease
	verbPragma
)

// statement is what the text of one SQL statement says by itself, without a
// look at any database.
type statement struct {
	text     string // without what is around it
	words    []string
	verb     verb
	mode     string // of BEGIN: deferred, immediate or exclusive
	name     string // of a savepoint
	reads    bool   // it changes nothing, for sure
	dml      bool   // it sets the number of rows changed
	times    bool   // it may look at the clock
	last     bool   // it calls last_insert_rowid()
	changes  bool   // it calls changes() or total_changes()
	random   bool   // it calls random() or randomblob()
	defines  bool   // it may change the schema
	refused  string // why simsql does not carry it out; "" if it does
	pragma   string // its name, in lower case
	argument string // of the pragma, as written
}

// Words that look at the clock, and functions that may.
var (
	timeWords     = []string{"CURRENT_TIMESTAMP", "CURRENT_TIME", "CURRENT_DATE", "'NOW'", `"NOW"`}
	timeFunctions = []string{"DATE", "TIME", "DATETIME", "JULIANDAY", "UNIXEPOCH", "STRFTIME", "TIMEDIFF"}
)

// scan cuts SQL into tokens: words in upper case, quoted text as written, single
// characters. Blanks and comments are left out. It calls f with each token and
// where it begins and ends.
func scan(sql string, f func(token string, from, to int)) {
	for i := 0; i < len(sql); {
		from := i
		switch c := sql[i]; {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f':
			i++
			continue
		case strings.HasPrefix(sql[i:], "--"):
			i = endOf(sql, i, "\n")
			continue
		case strings.HasPrefix(sql[i:], "/*"):
			i = endOf(sql, i+2, "*/")
			continue
		case c == '\'' || c == '"' || c == '`':
			i = endOfQuote(sql, i)
		case c == '[':
			i = endOf(sql, i, "]")
		case wordByte(c):
			for i < len(sql) && wordByte(sql[i]) {
				i++
			}
		default:
			i++
		}
		f(strings.ToUpper(sql[from:i]), from, i)
	}
}

func wordByte(c byte) bool {
	return c == '_' || c == '$' || c >= 0x80 || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z'
}

// endOf is just past the next end after i, or the end of all.
func endOf(sql string, i int, end string) int {
	if n := strings.Index(sql[i:], end); n >= 0 {
		return i + n + len(end)
	}
	return len(sql)
}

// endOfQuote is just past the quoted text that begins at i. A doubled quote
// stands for itself.
func endOfQuote(sql string, i int) int {
	q := sql[i]
	for i++; i < len(sql); i++ {
		if sql[i] != q {
			continue
		}
		if i++; i == len(sql) || sql[i] != q {
			return i
		}
	}
	return i
}

// split cuts a script into its statements. The semicolons within a CREATE
// TRIGGER end nothing before its END, as in sqlite3_complete.
func split(sql string) []*statement {
	var all []*statement
	var words []string
	start, end := 0, 0
	add := func() {
		if len(words) > 0 {
			all = append(all, newStatement(sql[start:end], words))
		}
		words = nil
	}
	scan(sql, func(token string, from, to int) {
		if token == ";" && !insideTrigger(words) {
			add()
			return
		}
		if len(words) == 0 {
			start = from
		}
		end = to
		words = append(words, token)
	})
	add()
	return all
}

// insideTrigger says whether tokens are a CREATE TRIGGER that has not come to
// its END, which follows a semicolon.
func insideTrigger(words []string) bool {
	if len(words) < 2 || words[0] != "CREATE" || !slices.Contains(words[1:min(3, len(words))], "TRIGGER") {
		return false
	}
	n := len(words)
	return !(words[n-1] == "END" && words[n-2] == ";")
}

func newStatement(text string, words []string) *statement {
	s := &statement{text: text, words: words}
	second := func(i int) string {
		if i < len(words) {
			return words[i]
		}
		return ""
	}
	switch words[0] {
	case "BEGIN":
		s.verb, s.mode = verbBegin, "deferred"
		if m := strings.ToLower(second(1)); m == "immediate" || m == "exclusive" {
			s.mode = m
		}
	case "COMMIT", "END":
		s.verb = verbCommit
	case "ROLLBACK":
		s.verb = verbRollback
		if slices.Contains(words, "TO") {
			s.verb, s.name = verbRollbackTo, bare(words[len(words)-1])
		}
	case "SAVEPOINT":
		s.verb, s.name = verbSavepoint, bare(words[len(words)-1])
	case "RELEASE":
		s.verb, s.name = verbRelease, bare(words[len(words)-1])
	case "PRAGMA":
		s.asPragma()
	case "SELECT", "VALUES", "EXPLAIN":
		s.reads = true
	case "WITH":
		s.dml = slices.ContainsFunc(words, func(w string) bool {
			return w == "INSERT" || w == "UPDATE" || w == "DELETE" || w == "REPLACE"
		})
		s.reads = !s.dml
	case "INSERT", "REPLACE", "UPDATE", "DELETE":
		s.dml = true
	case "ATTACH", "DETACH":
		s.refused = words[0] + ": a store is one database; declare another store"
	case "VACUUM":
		s.refused = "VACUUM: it changes no row; leave it out"
	default:
		s.defines = true
	}
	s.mentions()
	return s
}

// mentions notes which functions the statement calls, if they matter.
func (s *statement) mentions() {
	for i, w := range s.words {
		called := i+1 < len(s.words) && s.words[i+1] == "("
		switch {
		case slices.Contains(timeWords, w), called && slices.Contains(timeFunctions, w):
			s.times = true
		case w == "LAST_INSERT_ROWID":
			s.last = s.last || called
		case w == "RANDOM" || w == "RANDOMBLOB":
			s.random = s.random || called
		case w == "CHANGES" || w == "TOTAL_CHANGES":
			s.changes = s.changes || called
		case w == "TEMP" || w == "TEMPORARY":
			created := s.words[0] == "CREATE" && i == 1
			named := i+1 < len(s.words) && s.words[i+1] == "."
			if created || named {
				s.refused = "temporary tables belong to a connection, which simsql does not keep; use an ordinary table"
			}
		}
	}
	if s.defines && s.changes {
		s.refused = "changes() within the schema"
	}
}

func (s *statement) asPragma() {
	s.verb = verbPragma
	words := s.words[1:]
	if len(words) > 2 && words[1] == "." {
		words = words[2:]
	}
	if len(words) == 0 {
		return
	}
	s.pragma = strings.ToLower(words[0])
	if i := strings.IndexAny(s.text, "=("); i >= 0 {
		s.argument = strings.Trim(strings.TrimSuffix(strings.TrimSpace(s.text[i+1:]), ")"), " \t'\"")
	}
	s.reads = true
	rule, known := pragmas[s.pragma]
	switch {
	case !known:
		s.refused = "PRAGMA " + s.pragma + ": simsql does not know what it changes"
	case rule == pragmaRead && s.argument != "", rule == pragmaWrite && s.argument != "":
		s.reads = rule == pragmaRead
	}
}

// bare is a name without quotes, in lower case.
func bare(name string) string { return strings.ToLower(strings.Trim(name, "'\"`[]")) }

// What simsql does with a pragma.
const (
	pragmaRead  = iota // as any SELECT
	pragmaWrite        // as any UPDATE, if it has an argument
	pragmaTx           // as a statement of the transaction
	pragmaOwn          // the connection's own affair, see conn.pragma
)

var pragmas = map[string]int{
	"table_info": pragmaRead, "table_xinfo": pragmaRead, "table_list": pragmaRead,
	"index_list": pragmaRead, "index_info": pragmaRead, "index_xinfo": pragmaRead,
	"foreign_key_list": pragmaRead, "foreign_key_check": pragmaRead,
	"integrity_check": pragmaRead, "quick_check": pragmaRead, "database_list": pragmaRead,
	"function_list": pragmaRead, "collation_list": pragmaRead, "compile_options": pragmaRead,
	"encoding": pragmaRead, "schema_version": pragmaRead,

	"user_version": pragmaWrite, "application_id": pragmaWrite,

	"defer_foreign_keys": pragmaTx,

	"foreign_keys": pragmaOwn, "busy_timeout": pragmaOwn, "journal_mode": pragmaOwn,

	// They change how fast or how durable the database is, never what it answers.
	"synchronous": pragmaOwn, "cache_size": pragmaOwn, "temp_store": pragmaOwn,
	"mmap_size": pragmaOwn, "wal_autocheckpoint": pragmaOwn, "journal_size_limit": pragmaOwn,
	"page_size": pragmaOwn, "optimize": pragmaOwn, "analysis_limit": pragmaOwn,
	"secure_delete": pragmaOwn, "auto_vacuum": pragmaOwn, "wal_checkpoint": pragmaOwn,
	"cell_size_check": pragmaOwn, "threads": pragmaOwn, "trusted_schema": pragmaOwn,
}

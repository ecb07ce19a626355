package sqlitestore

import (
	"database/sql/driver"

	"exactlyone/model"
)

// goTo brings the connection to a position. It does nothing if it stands at one
// of equal content.
func (s *store) goTo(to position) error {
	committed := same(s.at.shared, to.shared)
	if committed && same(s.at.session, to.session) {
		return nil
	}
	s.restores++
	if s.at.shared == nil {
		_, _ = s.conn.exec("ROLLBACK") // an error says that no transaction was open
	} else if s.at.session != nil {
		if _, err := s.conn.exec("ROLLBACK"); err != nil {
			return err
		}
	}
	if !committed {
		if err := s.begin(to.shared); err != nil {
			return err
		}
		if _, err := s.conn.exec("COMMIT"); err != nil {
			return err
		}
	}
	if to.session != nil {
		return s.begin(to.session)
	}
	return nil
}

// same says whether two contents, either of them perhaps nil, are equal.
func same(a, b *model.Tables) bool {
	return a == b || a != nil && b != nil && a.String() == b.String()
}

// begin opens a transaction and gives it content.
func (s *store) begin(content *model.Tables) error {
	if _, err := s.conn.exec("BEGIN IMMEDIATE"); err != nil {
		return err
	}
	for _, t := range s.tables {
		if err := t.write(s.conn, content); err != nil {
			return err
		}
	}
	return nil
}

// write replaces what the table holds.
func (t table) write(c *conn, content *model.Tables) error {
	if _, err := c.exec("DELETE FROM " + quote(t.desc.Name)); err != nil {
		return err
	}
	args := make([]any, len(t.desc.Columns))
	for _, row := range content.Rows(t.desc.Name) {
		for i, column := range t.desc.Columns {
			args[i] = toSQL(row[column.Name])
		}
		if _, err := c.exec(t.fill, args...); err != nil {
			return err
		}
	}
	if !t.serial {
		return nil
	}
	return t.setSerial(c, content.LastSerial(t.desc.Name))
}

func (t table) setSerial(c *conn, last int64) error {
	_, err := c.exec("UPDATE sqlite_sequence SET seq = ? WHERE name = ?", last, t.desc.Name)
	return err
}

// read is old with what the table holds now.
func (t table) read(c *conn, old *model.Tables) (*model.Tables, error) {
	rows, err := t.rows(c, t.all+" ORDER BY "+t.key)
	if err != nil {
		return nil, err
	}
	var last int64
	if t.serial {
		err = c.query(func(v []driver.Value) { last, _ = v[0].(int64) },
			"SELECT seq FROM sqlite_sequence WHERE name = ?", t.desc.Name)
	}
	return old.Load(t.desc.Name, rows, last), err
}

package simsql

import "errors"

// position is where the worker stands: at a content, or in a transaction that
// began there. No content means that nobody knows.
type position struct {
	base *content
	log  *log
}

// goTo brings the worker to a position: it goes on from where it stands if that
// is on the way, else it goes back.
func (b *backend) goTo(to position, keys bool) error {
	if b.at.base != nil && b.at.base.is(to.base) && (to.log == nil && b.at.log == nil || b.worker.keys == keys) {
		if rest, ok := to.log.since(b.at.log); ok {
			if to.log == nil {
				if err := b.worker.setKeys(keys); err != nil {
					return err
				}
			}
			return b.replay(rest, to)
		}
	}
	b.restores++
	at := b.at
	b.at = position{}
	if b.worker.within() {
		if err := b.worker.exec("ROLLBACK"); err != nil {
			return err
		}
	}
	if at.base == nil || !at.base.is(to.base) {
		if at.base != nil {
			if err := b.save(at.base); err != nil {
				return err
			}
		}
		if err := b.load(to.base); err != nil {
			return err
		}
	}
	b.at.base = to.base
	if err := b.worker.setKeys(keys); err != nil {
		return err
	}
	rest, _ := to.log.since(nil)
	return b.replay(rest, to)
}

// replay performs again what was done on the way to a position. Errors are those
// that came the first time.
func (b *backend) replay(rest []*log, to position) error {
	for _, e := range rest {
		_, _ = b.worker.do(e.do, false, e.now)
	}
	b.at = to
	return nil
}

// save keeps the pages of the content where the worker stands.
func (b *backend) save(c *content) error {
	if c.image != nil {
		return nil
	}
	pages, err := b.worker.pages()
	if err != nil {
		return err
	}
	for i, p := range pages {
		if known, ok := b.pages[p]; ok {
			pages[i] = known
		} else {
			b.pages[p] = p
		}
	}
	c.image = pages
	return nil
}

// load brings the worker to a content: by its pages, or from the content it was
// made of.
func (b *backend) load(c *content) error {
	if c.image != nil {
		return b.worker.restore(c.image)
	}
	if c.parent == nil {
		return errInternal("nobody kept the first content")
	}
	if err := b.load(c.parent); err != nil {
		return err
	}
	rest, _ := c.made.since(nil)
	if err := b.worker.setKeys(rest[0].keys); err != nil {
		return err
	}
	if err := b.replay(rest, position{}); err != nil {
		return err
	}
	if b.worker.within() {
		return errors.Join(errInternal("a replay did not end"), b.worker.exec("ROLLBACK"))
	}
	return b.save(c)
}

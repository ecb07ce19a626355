package props

import (
	"slices"
	"strconv"
	"strings"
)

// lines is a sorted set of lists of fields: a string, because property states
// must be comparable. Fields are quoted, separated by tabs, lines by feeds.
type lines string

func (l lines) with(fields ...string) lines {
	for i, f := range fields {
		fields[i] = strconv.Quote(f)
	}
	line := strings.Join(fields, "\t")
	var all []string
	if l != "" {
		all = strings.Split(string(l), "\n")
	}
	i, found := slices.BinarySearch(all, line)
	if found {
		return l
	}
	return lines(strings.Join(slices.Insert(all, i, line), "\n"))
}

func (l lines) all() [][]string {
	if l == "" {
		return nil
	}
	var all [][]string
	for line := range strings.SplitSeq(string(l), "\n") {
		var fields []string
		for f := range strings.SplitSeq(line, "\t") {
			text, err := strconv.Unquote(f)
			if err != nil {
				panic("props: state was not made by with: " + err.Error())
			}
			fields = append(fields, text)
		}
		all = append(all, fields)
	}
	return all
}

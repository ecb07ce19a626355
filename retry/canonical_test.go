package retry_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"exactlyone/retry"
)

func canonical(t interface{ Fatalf(string, ...any) }, text string) string {
	got, err := retry.Canonical([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return string(got)
}

func TestCanonical(t *testing.T) {
	for text, want := range map[string]string{
		`null`: `null`, ` true `: `true`, "\tfalse\r\n": `false`,
		`{}`: `{}`, `[ ]`: `[]`, `{"a":{}, "b":[[],{}]}`: `{"a":{},"b":[[],{}]}`,
		`{"b":1,"a":2}`: `{"a":2,"b":1}`, `{"a":[{"d":1,"c":[ 2 , 3 ]}]}`: `{"a":[{"c":[2,3],"d":1}]}`,
		`"\u0061\u002f\/"`: `"a//"`, `"\ud83d\ude00é"`: `"😀é"`, `"\u0000\u001f\b\f\n\r\t"`: `"\u0000\u001f\b\f\n\r\t"`,
		`"<>&` + "\u2028\x7f" + `"`: `"<>&` + "\u2028\x7f" + `"`, `"\"\\"`: `"\"\\"`,
		// RFC 8785, section 3.2.2.
		`{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],` +
			`"string":"\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/","literals":[null,true,false]}`: `{"literals":[null,true,false],` +
			`"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],"string":"€$\u000f\nA'B\"\\\\\"/"}`,
		// RFC 8785, section 3.2.3: the order of UTF-16 code units.
		`{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh","1":"One",` +
			`"\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control","\u00f6":"Latin Small Letter O With Diaeresis"}`: `{"\r":"Carriage Return","1":"One",` +
			"\"\u0080\":\"Control\",\"ö\":\"Latin Small Letter O With Diaeresis\",\"€\":\"Euro Sign\",\"😀\":\"Emoji: Grinning Face\",\"\ufb33\":\"Hebrew Letter Dalet With Dagesh\"}",
		// Beyond RFC 8785: nothing is rounded.
		`9007199254740993`: `9007199254740993`, `0.1000000000000000055511151231257827`: `0.1000000000000000055511151231257827`,
		`1e400`: `1e+400`, `-12345678901234567890123`: `-1.2345678901234567890123e+22`, `1e-400`: `1e-400`,
		`-0`: `0`, `-0.0e5`: `0`, `1.0`: `1`, `10e-1`: `1`, `0.10`: `0.1`, `100E+19`: `1e+21`, `100`: `100`, `1e+1000000000`: `1e+1000000000`,
		`0.1e1000000001`: `1e+1000000000`, `10e-1000000001`: `1e-1000000000`, `0e1999999999`: `0`,
	} {
		if diff := cmp.Diff(want, canonical(t, text)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
}

// TestCanonicalNumbers: the samples of RFC 8785, appendix B, by their bits.
func TestCanonicalNumbers(t *testing.T) {
	for bits, want := range map[uint64]string{
		0x0000000000000000: "0", 0x8000000000000000: "0", 0x0000000000000001: "5e-324", 0x8000000000000001: "-5e-324",
		0x7fefffffffffffff: "1.7976931348623157e+308", 0xffefffffffffffff: "-1.7976931348623157e+308",
		0x4340000000000000: "9007199254740992", 0xc340000000000000: "-9007199254740992", 0x4430000000000000: "295147905179352830000",
		0x44b52d02c7e14af5: "9.999999999999997e+22", 0x44b52d02c7e14af6: "1e+23", 0x44b52d02c7e14af7: "1.0000000000000001e+23",
		0x444b1ae4d6e2ef4e: "999999999999999700000", 0x444b1ae4d6e2ef4f: "999999999999999900000", 0x444b1ae4d6e2ef50: "1e+21",
		0x3eb0c6f7a0b5ed8c: "9.999999999999997e-7", 0x3eb0c6f7a0b5ed8d: "0.000001",
		0x41b3de4355555553: "333333333.3333332", 0x41b3de4355555554: "333333333.33333325", 0x41b3de4355555555: "333333333.3333333",
		0xbecbf647612f3696: "-0.0000033333333333333333", 0x43143ff3c1cb0959: "1424953923781206.2",
	} {
		for _, format := range []byte("gef") {
			text := strconv.FormatFloat(math.Float64frombits(bits), format, -1, 64)
			if got := canonical(t, text); got != want {
				t.Errorf("%s: %s, want %s", text, got, want)
			}
		}
	}
}

func TestCanonicalErrors(t *testing.T) {
	for text, want := range map[string]error{
		``: retry.ErrNotJSON, `{`: retry.ErrNotJSON, `1 2`: retry.ErrNotJSON, `01`: retry.ErrNotJSON, `NaN`: retry.ErrNotJSON,
		"\"\xff\"": retry.ErrNotJSON, "\ufeff1": retry.ErrNotJSON,
		strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001): retry.ErrNotJSON,
		`{"a":1,"b":2,"\u0061":1}`:                                retry.ErrDuplicate,
		`"\ud800"`:                                                retry.ErrSurrogate, `["\udc00x"]`: retry.ErrSurrogate, `{"\ud800\u0061":1}`: retry.ErrSurrogate,
		`10e1000000000`: retry.ErrExponent, `0.1e-1000000000`: retry.ErrExponent, `0e2000000001`: retry.ErrExponent,
		`1e1000000001`: retry.ErrExponent, `1e-1000000001`: retry.ErrExponent,
		`1e99999999999999999999`: retry.ErrExponent, `1e-99999999999999999999`: retry.ErrExponent,
	} {
		if got, err := retry.Canonical([]byte(text)); !errors.Is(err, want) || got != nil {
			t.Errorf("%.40s: %s, error %v, want %v", text, got, err, want)
		}
	}
	if canonical(t, strings.Repeat("[", 10_000)+strings.Repeat("]", 10_000)) == "" {
		t.Error("10,000 levels")
	}
}

// value is a JSON value to write in many ways: a string, a number, or a list or
// object of values.
type value struct {
	text    string // a scalar, as JSON
	members []value
	names   []string // of an object's members
	object  bool
}

var scalars = rapid.Custom(func(t *rapid.T) value {
	if rapid.Bool().Draw(t, "string") {
		b, _ := json.Marshal(rapid.String().Draw(t, "text"))
		return value{text: string(b)}
	}
	return value{text: rapid.StringMatching(`-?(0|[1-9][0-9]{0,24})(\.[0-9]{1,9})?(e[+-]?[0-9]{1,3})?|true|null`).Draw(t, "word")}
})

func values(depth int) *rapid.Generator[value] {
	if depth == 0 {
		return scalars
	}
	return rapid.Custom(func(t *rapid.T) value {
		v := value{object: rapid.Bool().Draw(t, "object")}
		names := rapid.SliceOfNDistinct(rapid.String(), 0, 4, rapid.ID).Draw(t, "names")
		for _, name := range names {
			v.names = append(v.names, name)
			v.members = append(v.members, rapid.OneOf(scalars, values(depth-1)).Draw(t, "member"))
		}
		return v
	})
}

// write writes the value with members in any order and any whitespace.
func (v value) write(t *rapid.T, b *strings.Builder) {
	space := func() {
		b.WriteString(rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r "}).Draw(t, "space"))
	}
	defer space()
	space()
	if v.text != "" {
		b.WriteString(v.text)
		return
	}
	order := make([]int, len(v.members))
	for i := range order {
		order[i] = i
	}
	open, end := "[", "]"
	if v.object {
		open, end = "{", "}"
		order = rapid.Permutation(order).Draw(t, "order")
	}
	b.WriteString(open)
	for n, i := range order {
		if n > 0 {
			b.WriteString(",")
		}
		space()
		if v.object {
			name, _ := json.Marshal(v.names[i])
			b.Write(name)
			space()
			b.WriteString(":")
		}
		v.members[i].write(t, b)
	}
	b.WriteString(end)
}

// TestCanonicalIsOne: however a value is written, its form is the same, is JSON
// of the same value, and is its own form.
func TestCanonicalIsOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "value")
		var a, b strings.Builder
		v.write(t, &a)
		v.write(t, &b)
		one, other := canonical(t, a.String()), canonical(t, b.String())
		if one != other {
			t.Fatalf("%s\n%s\nfor\n%s\n%s", one, other, a.String(), b.String())
		}
		if again := canonical(t, one); again != one {
			t.Fatalf("%s becomes %s", one, again)
		}
		if !sameJSON(t, a.String(), one) {
			t.Fatalf("%s is another value than %s", one, a.String())
		}
	})
}

// TestCanonicalTellsApart: two values have one form only if they are equal.
func TestCanonicalTellsApart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var a, b strings.Builder
		values(rapid.IntRange(0, 1).Draw(t, "depth")).Draw(t, "one").write(t, &a)
		values(rapid.IntRange(0, 1).Draw(t, "depth")).Draw(t, "other").write(t, &b)
		equal := canonical(t, a.String()) == canonical(t, b.String())
		if equal != sameJSON(t, a.String(), b.String()) {
			t.Fatalf("%s and %s: one form is %v", a.String(), b.String(), equal)
		}
	})
}

// sameJSON compares two values by encoding/json and exact rational numbers.
func sameJSON(t interface{ Fatalf(string, ...any) }, a, b string) bool {
	read := func(text string) any {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		var v any
		if err := d.Decode(&v); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		return exact(v)
	}
	return cmp.Equal(read(a), read(b))
}

func exact(v any) any {
	switch v := v.(type) {
	case json.Number:
		r, ok := new(big.Rat).SetString(string(v))
		if !ok {
			panic(v)
		}
		return fmt.Sprint("number ", r)
	case string:
		return "string " + v
	case []any:
		for i := range v {
			v[i] = exact(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = exact(v[name])
		}
	}
	return v
}

// FuzzCanonical: what has a form is JSON, and so is its form, which is its own
// form; what has none has an error.
func FuzzCanonical(f *testing.F) {
	for _, text := range []string{
		``, `{"b":[1,2.50,-0,1e400],"a":"\u00e9\ud83d\ude00"}`, `{"a":1,"a":2}`, `"\ud800"`, ` [ ] `, `{"":{}}`, `1e-1000000001`, `10e1000000000`, `[0.1e1]`, "\"\x7f\\u0001\"",
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		form, err := retry.Canonical(text)
		if err != nil {
			if form != nil {
				t.Errorf("%s with error %v", form, err)
			}
			return
		}
		again, err := retry.Canonical(form)
		if !json.Valid(text) || err != nil || string(again) != string(form) {
			t.Errorf("%s becomes %s, which becomes %s, %v", text, form, again, err)
		}
	})
}

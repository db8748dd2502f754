package strictjson

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func code(err error) string {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	if err != nil {
		return "other error: " + err.Error()
	}
	return ""
}

// nested returns n arrays inside each other.
func nested(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }

// object returns an object of n different keys.
func object(n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(`,"k` + strconv.Itoa(i) + `":0`)
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}

// refusal is a text and the code that it is refused with.
type refusal struct {
	name, text, want string
	lim              Limits
}

func checkRefusals(t *testing.T, tests []refusal) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			v, err := Decode([]byte(tt.text), tt.lim)
			if got := code(err); got != tt.want || v != nil {
				t.Errorf("Decode = %v, %v; want nil, %s", v, err, tt.want)
			}
		})
	}
}

func TestDecodeRefusesSizeAndEncoding(t *testing.T) {
	checkRefusals(t, []refusal{
		{name: "one byte over the limit", text: `[1]`, lim: Limits{Bytes: 2}, want: CodeFrameTooLarge},
		{name: "a result over the limit", text: `[1]`, lim: Limits{Bytes: 2, Result: true}, want: CodeResultTooLarge},
		{name: "bg/A26 1 MiB and 1", text: strings.Repeat(" ", 1<<20) + "1", want: CodeFrameTooLarge},
		{name: "size goes before encoding", text: "\xff\xff", lim: Limits{Bytes: 1}, want: CodeFrameTooLarge},
		{name: "bg/A23 byte order mark", text: "\xef\xbb\xbf{}", want: CodeEncodingInvalid},
		{name: "bg/A24 raw byte", text: "{\"path\":\"a\xff\"}", want: CodeEncodingInvalid},
		{name: "bg/A24 lone surrogate", text: `{"path":"\ud800"}`, want: CodeEncodingInvalid},
		{name: "encoded surrogate in UTF-8", text: "\"\xed\xa0\x80\"", want: CodeEncodingInvalid},
		{name: "overlong UTF-8", text: "\"\xc0\xaf\"", want: CodeEncodingInvalid},
		{name: "UTF-16", text: "{\x00}\x00\xff\xfe", want: CodeEncodingInvalid},
		{name: "low surrogate alone", text: `"\udc00"`, want: CodeEncodingInvalid},
		{name: "high surrogate before a letter", text: `"\ud800\u0041"`, want: CodeEncodingInvalid},
		{name: "two high surrogates", text: `"\ud83d\ud83d\ude00"`, want: CodeEncodingInvalid},
		{name: "surrogate in a key", text: `{"\udfff":1}`, want: CodeEncodingInvalid},
		{name: "encoding goes before grammar", text: `["\ud800",`, want: CodeEncodingInvalid},
		{name: "raw byte behind a syntax error", text: "[,\xff", want: CodeEncodingInvalid},
	})
}

func TestDecodeRefusesWhatIsNotOneJSONValue(t *testing.T) {
	checkRefusals(t, []refusal{
		{name: "empty", text: "", want: CodeNotJSON},
		{name: "blanks only", text: " \t\r\n", want: CodeNotJSON},
		{name: "bg/A22 two values", text: `{} {}`, want: CodeNotJSON},
		{name: "bg/A39 cut in the middle", text: `{"a":[1,{"b":"c`, want: CodeNotJSON},
		{name: "bg/A70 a log line first", text: "starting\n{}", want: CodeNotJSON},
		{name: "comma before a bracket", text: `[1,]`, want: CodeNotJSON},
		{name: "comma before a brace", text: `{"a":1,}`, want: CodeNotJSON},
		{name: "leading comma", text: `[,1]`, want: CodeNotJSON},
		{name: "missing comma", text: `[1 2]`, want: CodeNotJSON},
		{name: "missing colon", text: `{"a" 1}`, want: CodeNotJSON},
		{name: "missing value", text: `{"a":}`, want: CodeNotJSON},
		{name: "bare key", text: `{a:1}`, want: CodeNotJSON},
		{name: "number as key", text: `{1:1}`, want: CodeNotJSON},
		{name: "wrong bracket", text: `[1}`, want: CodeNotJSON},
		{name: "single quotes", text: `'a'`, want: CodeNotJSON},
		{name: "comment", text: "1 // one", want: CodeNotJSON},
		{name: "leading zero", text: `01`, want: CodeNotJSON},
		{name: "plus sign", text: `+1`, want: CodeNotJSON},
		{name: "point without digits", text: `1.`, want: CodeNotJSON},
		{name: "digits only behind the point", text: `.5`, want: CodeNotJSON},
		{name: "empty exponent", text: `1e+`, want: CodeNotJSON},
		{name: "minus alone", text: `-`, want: CodeNotJSON},
		{name: "hexadecimal", text: `0x1`, want: CodeNotJSON},
		{name: "not a number", text: `NaN`, want: CodeNotJSON},
		{name: "upper case literal", text: `True`, want: CodeNotJSON},
		{name: "long literal", text: `nulls`, want: CodeNotJSON},
		{name: "line feed in a string", text: "\"a\nb\"", want: CodeNotJSON},
		{name: "raw U+0000 in a string", text: "\"a\x00b\"", want: CodeNotJSON},
		{name: "U+0000 behind the value", text: "1\x00", want: CodeNotJSON},
		{name: "unknown escape", text: `"\x41"`, want: CodeNotJSON},
		{name: "short escape", text: `"\u12"`, want: CodeNotJSON},
		{name: "escape of no hexadecimal digits", text: `"\u12g4"`, want: CodeNotJSON},
		{name: "form feed as blank", text: "\f1", want: CodeNotJSON},
		{name: "no-break space as blank", text: "\u00a01", want: CodeNotJSON},
		{name: "grammar goes before complexity", text: nested(65) + "]", want: CodeNotJSON},
		{name: "a million open brackets", text: strings.Repeat("[", 1<<20), want: CodeNotJSON},
		{name: "grammar goes before duplicates", text: `{"a":1,"a":2}}`, want: CodeNotJSON},
	})
}

func TestDecodeRefusesWhatIsTooComplex(t *testing.T) {
	checkRefusals(t, []refusal{
		{name: "65 deep", text: nested(65), want: CodeTooComplex},
		{name: "bg/A25 65 in input", text: `{"input":` + nested(65) + `}`, want: CodeTooComplex},
		{
			name: "65 deep in objects",
			text: strings.Repeat(`{"a":`, 65) + "1" + strings.Repeat("}", 65), want: CodeTooComplex,
		},
		{name: "depth cannot be raised", text: nested(65), lim: Limits{Depth: 1000}, want: CodeTooComplex},
		{name: "10,001 keys", text: object(10_001), want: CodeTooComplex},
		{
			name: "10,001 keys in two objects",
			text: "[" + object(5000) + "," + object(5001) + "]", want: CodeTooComplex,
		},
		{name: "50,001 values", text: "[0" + strings.Repeat(",0", 49_999) + "]", want: CodeTooComplex},
		{name: "complexity goes before duplicates", text: `{"a":1,"a":` + nested(64) + `}`, want: CodeTooComplex},
	})
}

func TestDecodeRefusesDuplicateKeysAndProto(t *testing.T) {
	checkRefusals(t, []refusal{
		{name: "bg/A11 the same key", text: `{"tool":"r","x":1,"tool":"w"}`, want: CodeDuplicateKey},
		{name: "bg/A12 the same key, escaped", text: `{"\u0074ool":"r","tool":"w"}`, want: CodeDuplicateKey},
		{name: "bg/A15 inside an opaque object", text: `{"input":[{"a":1,"a":1}]}`, want: CodeDuplicateKey},
		{name: "empty key twice", text: `{"":1,"":2}`, want: CodeDuplicateKey},
		{
			name: "ninth key repeats the first",
			text: `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"a":1}`, want: CodeDuplicateKey,
		},
		{
			name: "tenth key repeats the ninth",
			text: `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"i":1}`, want: CodeDuplicateKey,
		},
		{
			name: "twelfth key repeats the eleventh",
			text: `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1,"k":1,"k":1}`, want: CodeDuplicateKey,
		},
		{name: "duplicates go before __proto__", text: `{"__proto__":1,"b":[{"a":1,"a":1}]}`, want: CodeDuplicateKey},
		{name: "bg/A16 __proto__", text: `{"input":{"__proto__":{}}}`, want: CodeUnknownField},
		{name: "__proto__, escaped", text: `[{"\u005f_proto__":1}]`, want: CodeUnknownField},
	})
}

func TestDecodeAcceptsWhatIsWithinTheLimits(t *testing.T) {
	tests := []struct {
		name, text string
		lim        Limits
	}{
		{name: "exactly the limit", text: `[1]`, lim: Limits{Bytes: 3}},
		{name: "1 MiB", text: strings.Repeat(" ", 1<<20-1) + "1"},
		{name: "63 deep", text: nested(63)},
		{name: "64 deep", text: nested(64)},
		{name: "a scalar 64 deep", text: strings.Repeat("[", 64) + "1" + strings.Repeat("]", 64)},
		{name: "64 deep, 65 brackets in all", text: "[" + nested(63) + "," + nested(1) + "]"},
		{name: "9,999 keys", text: object(9_999)},
		{name: "10,000 keys", text: object(10_000)},
		{name: "50,000 values", text: "[0" + strings.Repeat(",0", 49_998) + "]"},
		{name: "keys that differ in case", text: `{"a":1,"A":1}`},
		{name: "keys that only look the same", text: `{"tool":1,"t\u043eol":1}`},
		{name: "the same key in two objects", text: `[{"a":1},{"a":{"a":1}}]`},
		{name: "__proto__ as a value", text: `{"a":"__proto__"}`},
		{name: "escaped backslash before u", text: `"\\ud800"`},
		{name: "U+0000 escape", text: `"\u0000"`},
		{name: "blanks everywhere", text: " \t\r\n{ \"a\" : [ 1 , 2 ] , \"b\" : { } } \n"},
		{name: "noncharacter", text: `"\uffff"`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if _, err := Decode([]byte(tt.text), tt.lim); err != nil {
				t.Errorf("Decode: %v", err)
			}
		})
	}
}

func TestDecodeKeepsOrderNumbersAndStrings(t *testing.T) {
	text := `{"z":1.50e+007,"a":-0,"m":[true,false,null,123456789012345678901234567890],` +
		`"s":"\"\\\/\b\f\n\r\t\u0041\ud83d\ude00é","":{}, "e":[]}`
	want := Object(
		Pair("z", Value{Kind: KindNumber, Text: "1.50e+007"}),
		Pair("a", Value{Kind: KindNumber, Text: "-0"}),
		Pair("m", Array(Bool(true), Bool(false), Null(),
			Value{Kind: KindNumber, Text: "123456789012345678901234567890"})),
		Pair("s", Text("\"\\/\b\f\n\r\tA\U0001F600é")),
		Pair("", Object()),
		Pair("e", Array()),
	)
	got, err := Decode([]byte(text), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	ignore := cmp.Options{
		cmpopts.IgnoreFields(Value{}, "Start", "End"), cmpopts.IgnoreFields(Member{}, "Start"),
		cmpopts.EquateEmpty(),
	}
	if diff := cmp.Diff(&want, got, ignore); diff != "" {
		t.Errorf("tree (-want +got):\n%s", diff)
	}
}

func TestDecodeTellsWhere(t *testing.T) {
	tests := []struct {
		text string
		want int64
	}{
		{"[1, \"\xff\"]", 5},
		{`["ab\ud800"]`, 4},
		{`[1 2]`, 3},
		{`{"a":1, "a":2}`, 8},
		{`{"x":{"__proto__":1}}`, 6},
	}
	for _, tt := range tests {
		_, err := Decode([]byte(tt.text), Limits{})
		var e *Error
		if !errors.As(err, &e) || e.Offset != tt.want {
			t.Errorf("Decode(%q) = %v, want offset %d", tt.text, err, tt.want)
		}
	}
	v, err := Decode([]byte(` {"a": [1, 2] }`), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if a := v.Get("a"); a.Start != 7 || a.End != 13 || a.Size() != 6 {
		t.Errorf("a is at %d to %d, want 7 to 13", a.Start, a.End)
	}
}

func TestDecodeKeepsProtoWhenAsked(t *testing.T) {
	const text = `{"a":{"__proto__":1}}`
	v, err := Decode([]byte(text), Limits{Proto: true})
	if err != nil || string(Append(nil, v)) != text {
		t.Errorf("Decode = %s, %v", Append(nil, v), err)
	}
	if _, err = Decode([]byte(`{"__proto__":1,"__proto__":2}`), Limits{Proto: true}); code(err) != CodeDuplicateKey {
		t.Errorf("twice: %v, want %s", err, CodeDuplicateKey)
	}
}

func TestErrorsShowNoRawByteOfTheText(t *testing.T) {
	key := "\x1b[31m\u202e" + strings.Repeat("k", 1000)
	quoted := string(Append(nil, &Value{Kind: KindString, Text: key}))
	_, err := Decode([]byte(`{`+quoted+`:1,`+quoted+`:2}`), Limits{})
	if code(err) != CodeDuplicateKey {
		t.Fatalf("Decode: %v, want %s", err, CodeDuplicateKey)
	}
	if s := err.Error(); strings.ContainsAny(s, "\x1b\u202e") || len(s) > 300 {
		t.Errorf("message %q holds raw text or is long", s)
	}
}

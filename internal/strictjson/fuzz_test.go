package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"unicode/utf8"
)

func FuzzDecode(f *testing.F) {
	for _, s := range []string{
		base, `{"a":1,"a":2}`, `["\ud83d\ude00\ud800"]`, "\xef\xbb\xbf1", "{\"a\":\"\xff\"}", `[1e5,-0.0,1E-7]`,
		`{"__proto__":{}}`, nested(64), nested(65), `[{"a":{}},[],"",null,true,false] `, `"\u0000\"\\\/\b\f\n\r\t"`,
		`[1,]`, `01`, `nul`, "\"\x00\"", object(12), `{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"a":1}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		v, err := Decode(data, Limits{})
		if err != nil {
			checkRefusal(t, data, v, err)
			return
		}
		if !json.Valid(data) {
			t.Fatalf("accepted %q, which encoding/json refuses", data)
		}
		got := Append(nil, v)
		if diff := compareTokens(data, got); diff != "" {
			t.Fatalf("Append = %s for %q: %s", got, data, diff)
		}
		again, err := Decode(got, Limits{Bytes: 8 * DefaultBytes})
		if err != nil {
			t.Fatalf("Decode of Append: %v for %q", err, data)
		}
		if twice := Append(nil, again); !bytes.Equal(got, twice) {
			t.Fatalf("not canonical: %s, then %s", got, twice)
		}
	})
}

// checkRefusal looks whether the code is one that the text can have.
func checkRefusal(t *testing.T, data []byte, v *Value, err error) {
	t.Helper()
	if v != nil {
		t.Fatalf("value and error %v for %q", err, data)
	}
	valid := json.Valid(data)
	switch c := code(err); c {
	case CodeNotJSON:
		if valid {
			t.Fatalf("not_json for %q, which encoding/json accepts", data)
		}
	case CodeTooComplex, CodeDuplicateKey, CodeUnknownField:
		if !valid {
			t.Fatalf("%s for %q, which is not JSON", c, data)
		}
	case CodeEncodingInvalid:
		escape := bytes.Contains(bytes.ToLower(data), []byte(`\ud`))
		if utf8.Valid(data) && !escape && !bytes.HasPrefix(data, []byte("\xef\xbb\xbf")) {
			t.Fatalf("encoding_invalid for %q", data)
		}
	case CodeFrameTooLarge:
		if len(data) <= DefaultBytes {
			t.Fatalf("frame_too_large for %d bytes", len(data))
		}
	default:
		t.Fatalf("unexpected code %s for %q", c, data)
	}
}

// compareTokens reads both texts with encoding/json, which keeps the order of
// keys and the source text of numbers in its token stream.
func compareTokens(a, b []byte) string {
	da, db := json.NewDecoder(bytes.NewReader(a)), json.NewDecoder(bytes.NewReader(b))
	da.UseNumber()
	db.UseNumber()
	for {
		ta, ea := da.Token()
		tb, eb := db.Token()
		if ea != nil || eb != nil {
			if errors.Is(ea, io.EOF) && errors.Is(eb, io.EOF) {
				return ""
			}
			return "one of the token streams ends or fails early"
		}
		if ta != tb {
			return "tokens differ"
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	data := []byte(base)
	b.SetBytes(int64(len(data)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Decode(data, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

package envelope

import (
	"strings"
	"testing"

	"brainbox/internal/strictjson"
)

// answer is the valid result E of section A.10.
const answer = `{"schema":"wp-codebox/parent-tool-result/v1","version":1,"request_id":"ptr_1",` +
	`"tool":"workspace.read","operation":"call","status":"succeeded","output":{"contents":"TAINT"},` +
	`"artifacts":{"transcripts":[],"evidence":[]},"diagnostics":{},"metadata":{}}`

const (
	succeeded = `"status":"succeeded","output":{"contents":"TAINT"}`
	failure   = `"error":{"code":"no_such_page","message":"TAINT","retryable":true}`
)

func TestDecodeResultRefuses(t *testing.T) {
	const shape = "result_shape_invalid"
	evidence := func(ref string) [2]string {
		return [2]string{`"evidence":[]`, `"evidence":[{"kind":"e"` + ref + `}]`}
	}
	failed := func(rest string) [2]string { return [2]string{succeeded, `"status":"failed"` + rest} }
	for _, c := range []struct {
		id   string
		edit [2]string
		want string
	}{
		{"bg/A39", [2]string{`"metadata":{}}`, `"metad`}, "result_not_json"},
		{"bg/A45", [2]string{`"ptr_1"`, `"ptr_2"`}, "request_id_mismatch"},
		{"bg/A46", [2]string{`"workspace.read"`, `"workspace.write"`}, "tool_mismatch"},
		{"bg/A46", [2]string{`"call"`, `"read"`}, "operation_mismatch"},
		{"bg/A47", [2]string{`"version":1`, `"version":2`}, "result_version_unsupported"},
		{"bg/A48", [2]string{`"succeeded"`, `"ok"`}, "result_status_invalid"},
		{"bg/A49", failed(``), shape},
		{"bg/A50", failed(`,"error":{"code":"a","message":"TAINT"}`), shape},
		{"bg/A51", [2]string{succeeded, succeeded + `,` + failure}, shape},
		{"bg/A53", [2]string{succeeded, succeeded + `,"status":"denied"`}, "result_duplicate_key"},
		{"bg/A60", evidence(`,"path":"../../etc/passwd"`), shape},
		{"an absolute path", evidence(`,"path":"/etc/passwd"`), shape},
		{"a path with a backslash", evidence(`,"path":"a\\b"`), shape},
		{"a path with U+0085", evidence(`,"path":"a\u0085b"`), shape},
		{"a path of 256 bytes", evidence(`,"path":"` + strings.Repeat("a", 256) + `"`), shape},
		{"a reference to nothing", evidence(``), shape},
		{"a digest in capitals", evidence(`,"id":"x","sha256":"` + strings.Repeat("A", 64) + `"`), shape},
		{"output with a failure", failed(`,"output":null,` + failure), shape},
		{"a null error with success", [2]string{succeeded, succeeded + `,"error":null`}, shape},
		{"a code in capitals", failed(`,` + strings.Replace(failure, "no_such", "No", 1)), shape},
		{"an empty message", failed(`,` + strings.Replace(failure, "TAINT", "", 1)), shape},
		{"no artifacts", [2]string{`"artifacts":{"transcripts":[],"evidence":[]},`, ``}, shape},
		{"no diagnostics", [2]string{`"diagnostics":{},`, ``}, shape},
		{"metadata that is a string", [2]string{`"metadata":{}`, `"metadata":"TAINT"`}, shape},
		{"a member that is not known", [2]string{succeeded, succeeded + `,"TAINT":1`}, "result_schema_invalid"},
		{"the schema of a request", [2]string{`tool-result`, `tool-request`}, "result_schema_invalid"},
		{"__proto__ in the output", [2]string{`{"contents":"TAINT"}`, `{"__proto__":1}`}, "result_schema_invalid"},
		{"no id", [2]string{`"request_id":"ptr_1",`, ``}, "request_id_mismatch"},
		{"an id in capitals", [2]string{`"ptr_1"`, `"PTR_1"`}, "request_id_mismatch"},
		{"a value behind it", [2]string{`"metadata":{}}`, `"metadata":{}} {}`}, "result_not_json"},
		{"a byte that is not UTF-8", [2]string{`TAINT`, "TAINT\xff"}, "result_not_json"},
		{"more than 1 MiB", [2]string{`TAINT`, strings.Repeat("TAINT", 1<<20/5)}, "result_too_large"},
		{
			"nested too deeply",
			[2]string{`"TAINT"`, strings.Repeat("[", 64) + strings.Repeat("]", 64)},
			"result_too_large",
		},
	} {
		t.Run(c.id, func(t *testing.T) {
			req := mustRequest(t, base)
			if res := DecodeResult(req, []byte(answer)); res.Status != Succeeded {
				t.Fatalf("control: %+v", res.Err)
			}
			res := DecodeResult(req, []byte(change(t, answer, c.edit[0], c.edit[1])))
			if res.Status != Failed || res.Err == nil || res.Err.Code != c.want {
				t.Fatalf("got %s/%+v, want failed/%s", res.Status, res.Err, c.want)
			}
			if res.Err.Retryable || res.Output != nil || res.Err.Message == "" {
				t.Errorf("result %+v", res)
			}
			text := string(res.Encode())
			for _, bad := range []string{"TAINT", "passwd", "ptr_2", "workspace.write"} {
				if strings.Contains(text, bad) {
					t.Errorf("%s holds %s of the answer", text, bad)
				}
			}
			if again := DecodeResult(req, res.Encode()); string(again.Encode()) != text {
				t.Errorf("not a whole result: %s", text)
			}
		})
	}
	for _, text := range []string{"", "null", "[]", "<html>", `"x"`} {
		if res := DecodeResult(mustRequest(t, base), []byte(text)); res.Status != Failed {
			t.Errorf("%q: %s", text, res.Status)
		}
	}
}

func TestDecodeResultPasses(t *testing.T) {
	for _, c := range []struct{ id, old, with string }{
		{"bg/A52", succeeded, `"status":"timeout",` + failure},
		{"failed as returned", succeeded, `"status":"failed",` + failure},
		{"denied", succeeded, `"status":"denied",` + failure},
		{"details", succeeded, `"status":"unavailable",` + strings.Replace(failure, "}", `,"details":{"a":1.50}}`, 1)},
		{"no output", `,"output":{"contents":"TAINT"}`, ``},
		{"null output", `{"contents":"TAINT"}`, `null`},
		{"references", `"evidence":[]`, `"evidence":[{"kind":"x","path":"a/b.c","id":"1","uri":"u:1","sha256":"` +
			strings.Repeat("0f", 32) + `","metadata":{"n":1e5}}]`},
	} {
		t.Run(c.id, func(t *testing.T) {
			req := mustRequest(t, base)
			text := change(t, answer, c.old, c.with)
			res := DecodeResult(req, []byte(text))
			if got := string(res.Encode()); got != text {
				t.Errorf("got %s, want %s", got, text)
			}
			if req.Checked(res) != res {
				t.Error("what was decoded is not whole")
			}
		})
	}
}

// A client skips what it does not know, and only that.
func TestReadResultIsLenient(t *testing.T) {
	req := mustRequest(t, base)
	for text, want := range map[string]string{
		change(t, answer, succeeded, succeeded+`,"later":1`):           "",
		change(t, answer, `"artifacts":{`, `"artifacts":{"later":[],`): "",
		change(t, answer, `"ptr_1"`, `"ptr_2"`):                        CodeRequestIDMismatch,
		change(t, answer, succeeded, succeeded+`,`+failure):            CodeResultShapeInvalid,
		change(t, answer, `"version":1`, `"version":1.0`):              CodeResultVersionUnsupported,
		`[]`: CodeResultSchemaInvalid,
	} {
		v, err := strictjson.Decode([]byte(text), strictjson.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if res, code := ReadResult(req, v); code != want || (res == nil) != (want != "") {
			t.Errorf("%s: %q, want %q", text, code, want)
		}
	}
	if _, code := ReadResult(req, nil); code == "" {
		t.Error("nothing is a result")
	}
}

func TestFailIsWholeForEveryCode(t *testing.T) {
	retryable := map[string]bool{
		CodeEndpointUnreachable: true, CodeEndpointBusy: true, CodeOverloaded: true, CodeShuttingDown: true,
	}
	for status, codes := range map[Status][]string{
		Denied: {
			CodeToolNotAllowed, CodeOperationNotAllowed, CodeCapabilityDenied, CodePrincipalDenied,
			CodeSessionMismatch, CodeAllowlistMismatch, CodeRequestReplayed, CodePermissionDenied,
			CodeWriteProtectedDenied, CodeEndpointForbidden,
		},
		Unavailable: {
			CodeBridgeNotConfigured, CodeDispatcherEnvMissing, CodeEndpointURLInvalid, CodeEndpointInsecure,
			CodeEndpointAuthFailed, CodeEndpointNotFound, CodeRedirectRefused, CodeCommandNotFound,
			CodeCommandStartFailed, CodeConfirmationUnavailable, CodeEndpointUnreachable, CodeEndpointBusy,
			CodeOverloaded, CodeShuttingDown,
		},
		Timeout: {CodeDispatchTimeout, CodePromptTimeout},
		Failed:  {CodeCommandExitNonzero, CodeCommandSignaled, CodeRedactionFailed, CodeEndpointHTTPError, "target_changed"},
	} {
		for _, code := range codes {
			for _, capability := range []string{"", "read", "write"} {
				req := mustRequest(t, base)
				req.Capability = capability
				res := req.Fail(status, code, "because")
				want := retryable[code] || status == Timeout && capability == "read"
				if res.Err.Retryable != want {
					t.Errorf("%s/%s for %q: retryable %v", status, code, capability, res.Err.Retryable)
				}
				if again := DecodeResult(req, res.Encode()); again.Status != status || again.Err.Code != code {
					t.Errorf("%s/%s is not whole: %s", status, code, res.Encode())
				}
			}
		}
	}
}

// Whatever is given, what is sent is whole.
func TestFailNeverSendsHalf(t *testing.T) {
	req := mustRequest(t, base)
	for _, res := range []*Result{
		req.Fail(Succeeded, CodeOverloaded, "x"),
		req.Fail("", CodeOverloaded, "x"),
		req.Fail(Failed, "Bad Code", "x"),
		req.Fail(Failed, "", ""),
		{ID: req.ID, Tool: req.Tool, Operation: req.Operation},
		{ID: req.ID, Tool: req.Tool, Operation: req.Operation, Status: Failed, Err: &Error{}},
	} {
		got := DecodeResult(req, res.Encode())
		if got.Status != Failed || got.Err.Code != CodeInternalError {
			t.Errorf("%+v is sent as %s", res, res.Encode())
		}
	}
	long := req.Fail(Failed, "x", strings.Repeat("a", MaxMessage-1)+"é"+"b")
	if m := long.Err.Message; len(m) != MaxMessage-1 || !strings.HasSuffix(m, "a") {
		t.Errorf("message of %d bytes", len(m))
	}
	if m := ClipMessage(strings.Repeat("\x80", MaxMessage+9)); len(m) > MaxMessage || len(m) < MaxMessage-4 {
		t.Errorf("%d bytes of what is not UTF-8", len(m))
	}
}

// A member that an adapter put there does not occur twice.
func TestDiagnose(t *testing.T) {
	req := mustRequest(t, base)
	res := DecodeResult(req, []byte(change(t, answer, `"diagnostics":{}`, `"diagnostics":{"a":1,"b":2}`)))
	old := res.Diagnostics
	res.Diagnose("a", strictjson.Bool(true))
	if got := DecodeResult(req, res.Encode()); got.Status != Succeeded {
		t.Fatalf("%+v", got.Err)
	}
	if got, want := string(strictjson.Append(nil, &res.Diagnostics)), `{"b":2,"a":true}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if old.Get("a").Text != "1" {
		t.Error("what was there before changed")
	}
	res.Diagnostics.Kind = strictjson.KindNull
	if res.Diagnose("c", strictjson.Null()); res.Diagnostics.Kind != strictjson.KindObject {
		t.Error("no object")
	}
}

func TestChecked(t *testing.T) {
	req := mustRequest(t, base)
	null := strictjson.Null()
	for want, edit := range map[string]func(*Result){
		CodeRequestIDMismatch:                     func(r *Result) { r.ID = "ptr_2" },
		CodeToolMismatch:                          func(r *Result) { r.Tool = "x" },
		CodeOperationMismatch:                     func(r *Result) { r.Operation = "x" },
		CodeResultStatusInvalid:                   func(r *Result) { r.Status = "" },
		CodeResultShapeInvalid:                    func(r *Result) { r.Err = &Error{Code: "a", Message: "b"} },
		CodeResultShapeInvalid + " error missing": func(r *Result) { r.Status = Denied },
		CodeResultShapeInvalid + " output": func(r *Result) {
			r.Status, r.Output, r.Err = Denied, &null, &Error{Code: "a", Message: "b"}
		},
		CodeResultShapeInvalid + " reference": func(r *Result) { r.Transcripts = []Ref{{Kind: "x", Path: "/a"}} },
	} {
		res := req.Succeed(&null)
		if req.Checked(res) != res {
			t.Fatal("control")
		}
		edit(res)
		want, _, _ := strings.Cut(want, " ")
		if got := req.Checked(res); got.Status != Failed || got.Err.Code != want {
			t.Errorf("got %+v, want %s", got.Err, want)
		}
	}
	if got := req.Checked(nil); got.Err.Code != CodeInternalError {
		t.Errorf("nil: %+v", got.Err)
	}
}

func FuzzDecodeResult(f *testing.F) {
	f.Add([]byte(answer))
	f.Add([]byte(strings.Replace(answer, succeeded, `"status":"failed",`+failure, 1)))
	f.Add([]byte(`{"schema":1}`))
	req := mustRequest(f, base)
	f.Fuzz(func(t *testing.T, data []byte) {
		res := DecodeResult(req, data)
		if req.Checked(res) != res {
			t.Fatalf("no whole result: %+v", res)
		}
		first := res.Encode()
		if len(first) <= strictjson.DefaultBytes {
			if again := DecodeResult(req, first).Encode(); string(again) != string(first) {
				t.Fatalf("not stable: %s, then %s", first, again)
			}
		}
	})
}

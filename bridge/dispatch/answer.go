package dispatch

import (
	"errors"
	"io/fs"
	"os"
	"slices"

	"brainbox/bridge/envelope"
	"brainbox/internal/keeper"
	"brainbox/internal/strictjson"
)

// notStarted is the result when the program never ran.
func (run *call) notStarted(err error) *envelope.Result {
	var call *os.SyscallError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fail(run.r, envelope.Timeout, envelope.CodeDispatchTimeout)
	case errors.Is(err, errNoProgram), errors.As(err, &call) && call.Syscall == "execve" && errors.Is(err, fs.ErrNotExist):
		return fail(run.r, envelope.Unavailable, envelope.CodeCommandNotFound)
	}
	return fail(run.r, envelope.Unavailable, envelope.CodeCommandStartFailed)
}

// ended is the result of a program that did not end by itself.
func (run *call) ended(code string) *envelope.Result {
	if code == envelope.CodeDispatchTimeout {
		return fail(run.r, envelope.Timeout, code)
	}
	return fail(run.r, envelope.Failed, code)
}

// result is the result of a program that ended by itself.
func (run *call) result(end keeper.End) *envelope.Result {
	exit, ok := run.kept.Exit()
	switch {
	case !ok || end.Lost || end.Survivors > 0:
		return fail(run.r, envelope.Failed, envelope.CodeInternalError)
	case exit.Signal != 0:
		res := fail(run.r, envelope.Failed, envelope.CodeCommandSignaled)
		details := strictjson.Object(strictjson.Pair("signal", strictjson.Int(int64(exit.Signal))))
		res.Err.Details = &details
		return res
	case exit.Code != 0:
		res := fail(run.r, envelope.Failed, envelope.CodeCommandExitNonzero)
		details := strictjson.Object(strictjson.Pair("exit_code", strictjson.Int(int64(exit.Code))))
		res.Err.Details = &details
		return res
	case run.files != nil:
		text, err := readResult(run.files, resultName)
		if err != nil {
			return fail(run.r, envelope.Failed, envelope.CodeResultNotJSON)
		}
		return envelope.DecodeResult(run.r, text)
	case run.stdout.more:
		return fail(run.r, envelope.Failed, envelope.CodeResultTooLarge)
	}
	return envelope.DecodeResult(run.r, run.stdout.text)
}

// diagnose adds what the host saw; it replaces what the command says under the same names.
func (run *call) diagnose(res *envelope.Result, end keeper.End) {
	set := func(key string, v strictjson.Value) {
		members := slices.DeleteFunc(slices.Clone(res.Diagnostics.Members), func(m strictjson.Member) bool { return m.Key == key })
		res.Diagnostics = strictjson.Object(append(members, strictjson.Pair(key, v))...)
	}
	if text := run.stderr.visible(); text != "" {
		set("stderr", strictjson.Text(text))
	}
	if run.stderr.more {
		set("stderr_truncated", strictjson.Bool(true))
	}
	if end.Killed {
		set("leftover_processes", strictjson.Bool(true))
	}
	if end.Survivors > 0 {
		set("surviving_processes", strictjson.Int(int64(end.Survivors)))
	}
}

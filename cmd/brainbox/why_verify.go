package main

import (
	"strings"

	"brainbox/launcher"
	"brainbox/policy"
)

// verify asks the kernel whether it does what the plan says (--verify). An error is a
// disagreement, or a trial that failed.
func (v *verdict) verify(f *launcher.Facts, args []string) error {
	o, why := whyOperation(args)
	if why != "" {
		v.verified = "unverified: " + why
		return nil
	}
	j := launcher.NewJudge(v.plan, f).Judge(o)
	if (j.Verdict == launcher.Allowed) != (v.status == whyAllowed) && j.Verdict != launcher.Undecided {
		v.verified = "unverified: the answer is about more than one call of the kernel"
		return nil
	}
	said, err := v.plan.Verify(f, o, j)
	if err != nil {
		return err
	}
	v.verified, err = verifiedLine(said, j, args)
	return err
}

// verifiedLine is the last line of the answer, or the error that ends it.
func verifiedLine(said launcher.Verification, j launcher.Judgement, args []string) (string, error) {
	switch said.Agreement {
	case launcher.Agrees:
		word := said.Tried.String()
		switch {
		case j.Verdict == launcher.Allowed:
			word = "allowed"
		case said.Tried.Made && said.Tried.Errno == 0:
			word = "the program finds something else"
		}
		return "verified: the kernel agrees (" + word + ")", nil
	case launcher.Disagrees:
		words := []string{"brainbox why --verify"}
		for _, a := range args {
			words = append(words, quote(a))
		}
		return "", refuse(said.Reason+": this is a fault of brainbox",
			"please report it with what brainbox policy show and brainbox probe print, and: "+strings.Join(words, " "))
	case launcher.Unverified:
	}
	return "unverified: " + said.Reason, nil
}

// whyOperation is a question of the command line as the kernel would be asked; why says what
// is in the way.
func whyOperation(args []string) (o launcher.Operation, why string) {
	word, target := args[0], args[1]
	switch word {
	case "syscall":
		return launcher.Operation{Op: launcher.OpSyscall, Call: target}, ""
	case "connect", "bind":
		o.Op = launcher.OpConnect
		if word == "bind" {
			o.Op = launcher.OpBind
		}
		port, err := policy.ParsePort(target)
		if err != nil {
			return o, err.Error()
		}
		o.Port = port
		return o, ""
	case "unix":
		o.Op = launcher.OpUnix
	default:
		asked, known := whyOps[word]
		if o.Op = asked.op; !known {
			return o, "no single call of the kernel answers it"
		}
	}
	return whyOn(o, args[1:])
}

// whyOn fills in the paths.
func whyOn(o launcher.Operation, names []string) (launcher.Operation, string) {
	changes := o.Op == launcher.OpCreate || o.Op == launcher.OpRemove || o.Op == launcher.OpRename
	at, v := lookAt(names[0], !changes)
	if v != nil {
		return o, v.reason
	}
	o.Path, o.Kind = at.path, at.kind
	switch {
	case o.Op == launcher.OpRename:
		dest, v := lookAt(names[1], false)
		if v != nil {
			return o, v.reason
		}
		o.Dest, o.Over = dest.path, dest.kind
	case at.kind == launcher.KindAbsent && (o.Op == launcher.OpWrite || o.Op == launcher.OpCreate):
		o.Op, o.Kind = launcher.OpCreate, launcher.KindRegular // to write it is to make it
	case o.Op == launcher.OpCreate:
		return o, "it is there, and cannot be made again"
	}
	if o.Kind == launcher.KindAbsent {
		return o, "nothing is there"
	}
	return o, ""
}

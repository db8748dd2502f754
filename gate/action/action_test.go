package action

import "testing"

func TestParse(t *testing.T) {
	for _, a := range []Action{Deny, Ask, Allow} {
		if got, err := Parse(a.String()); err != nil || got != a {
			t.Errorf("Parse(%q) = %v, %v", a.String(), got, err)
		}
	}
	for _, s := range []string{"", "Allow", "allow ", "yes"} {
		if got, err := Parse(s); err == nil || got != Deny {
			t.Errorf("Parse(%q) = %v, %v; want an error and deny", s, got, err)
		}
	}
}

func TestWorse(t *testing.T) {
	for _, c := range []struct{ a, b, want Action }{
		{Allow, Allow, Allow}, {Allow, Ask, Ask}, {Ask, Deny, Deny}, {Allow, Deny, Deny}, {Allow, 77, Deny},
	} {
		if Worse(c.a, c.b) != c.want || Worse(c.b, c.a) != c.want {
			t.Errorf("Worse(%v, %v) is not %v", c.a, c.b, c.want)
		}
	}
	if Action(77).String() != "deny" {
		t.Error("what is no action does not deny")
	}
}

package explain

import (
	"sync"

	"brainbox/launcher"
)

// memo keeps the judgements of operations: a program that is refused asks again and again, and
// a judgement with its remedy takes longer than all else. A judge is pure, so that it says the
// same each time. As many are kept as denials are told apart; the others are judged anew.
type memo struct {
	ask func(launcher.Operation) launcher.Judgement

	mu   sync.RWMutex
	kept map[launcher.Operation]launcher.Judgement
}

// judge answers for an operation whose strings are its own.
func (m *memo) judge(op launcher.Operation) launcher.Judgement {
	m.mu.RLock()
	j, known := m.kept[op]
	m.mu.RUnlock()
	if known {
		return j
	}
	j = m.ask(op)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.kept == nil {
		m.kept = map[launcher.Operation]launcher.Judgement{}
	}
	if len(m.kept) < keptDenials {
		m.kept[op] = j
	}
	return j
}

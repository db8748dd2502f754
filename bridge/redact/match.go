package redact

// matcher finds many patterns at once. Every pattern is at least anchor bytes long; its first
// bytes are looked up in a filter, and only then compared.
type matcher struct {
	patterns []pattern
	filter   []uint64           // one bit for each hash of anchor bytes; nil: no patterns
	first    map[uint32][]int32 // patterns by their first anchor bytes
}

const (
	anchor     = 4
	filterBits = 16
)

func hash(window uint32) uint32 { return window * 0x9E3779B1 >> (32 - filterBits) }

func (m *matcher) build(list []pattern) {
	if len(list) == 0 {
		return
	}
	m.patterns = list
	m.filter = make([]uint64, 1<<filterBits/64)
	m.first = make(map[uint32][]int32, len(list))
	for i := range list {
		p := &list[i]
		p.fail = failure(p.text)
		w := window(p.text, 0)
		h := hash(w)
		m.filter[h/64] |= 1 << (h % 64)
		m.first[w] = append(m.first[w], int32(i))
	}
}

func window(s string, i int) uint32 {
	return uint32(s[i]) | uint32(s[i+1])<<8 | uint32(s[i+2])<<16 | uint32(s[i+3])<<24
}

// scan is the state of a search. For each pattern, nothing starts before next, and what starts
// there is known to have its first bytes: no byte of the text is compared with a pattern twice,
// whatever repeats in either.
type scan struct {
	next, known []int
	touched     []int32
}

// find calls hit for every place of every pattern, overlapping ones too.
func (m *matcher) find(s *scan, text string, hit func(p *pattern, from, to int)) {
	if m.filter == nil || len(text) < anchor {
		return
	}
	if s.next == nil {
		s.next, s.known = make([]int, len(m.patterns)), make([]int, len(m.patterns))
	}
	w := window(text, 0) << 8
	for i := 0; i+anchor <= len(text); i++ {
		w = w>>8 | uint32(text[i+anchor-1])<<24
		if h := hash(w); m.filter[h/64]>>(h%64)&1 == 0 {
			continue
		}
		for _, n := range m.first[w] {
			m.try(s, text, i, n, hit)
		}
	}
	for _, n := range s.touched {
		s.next[n], s.known[n] = 0, 0
	}
	s.touched = s.touched[:0]
}

// try compares pattern n with the text at i.
func (m *matcher) try(s *scan, text string, i int, n int32, hit func(p *pattern, from, to int)) {
	if i < s.next[n] {
		return
	}
	p, k := &m.patterns[n], 0
	if i == s.next[n] {
		k = s.known[n]
	}
	for k < len(p.text) && i+k < len(text) && text[i+k] == p.text[k] {
		k++
	}
	if k == len(p.text) {
		hit(p, i, i+k)
	}
	if s.next[n] == 0 && s.known[n] == 0 {
		s.touched = append(s.touched, n)
	}
	s.known[n] = int(p.fail[k-1]) // k >= anchor: the window is the same
	s.next[n] = i + k - s.known[n]
}

// exact adds the places of secrets in s: in itself, and in what it decodes to.
func (w *walk) exact(s string) {
	if w.r.match.filter != nil {
		w.views(view{text: s}, 2)
	}
}

// views looks at v, at v without its line breaks and without what colours it, and at what v
// decodes to, depth times.
func (w *walk) views(v view, depth int) {
	w.look(v)
	if v.has('\n') || v.has('\r') {
		w.lookSqueezed(v)
	}
	if v.has(escape) { // it has none then
		w.views(bare(v), depth)
	}
	if depth == 0 {
		return
	}
	if v.has('%') {
		if d, changed := percent(v); changed {
			w.views(d, depth-1)
		}
	}
	if v.has('\\') {
		if d, changed := unescape(v); changed {
			w.views(d, depth-1)
		}
	}
}

// lookSqueezed looks at a text without its line breaks. Where each byte came from is worked out
// only when there is something to be found: a text of many lines is the ordinary case.
func (w *walk) lookSqueezed(v view) {
	found := false
	w.r.match.find(&w.scan, squeezed(v.text), func(*pattern, int, int) { found = true })
	if found {
		w.look(squeeze(v))
	}
}

func (w *walk) look(v view) {
	w.r.match.find(&w.scan, v.text, func(p *pattern, from, to int) {
		if p.left && from > 0 && base64Byte(v.text[from-1]) {
			from--
		}
		if p.right && to < len(v.text) && base64Byte(v.text[to]) {
			to++
		}
		for n := 0; p.right && n < 2 && to < len(v.text) && v.text[to] == '='; n++ {
			to++ // how long the secret is
		}
		w.add(v.source(from), v.source(to))
	})
}

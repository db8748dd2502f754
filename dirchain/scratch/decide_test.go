package scratch

import (
	"math"
	"strings"
	"testing"
	"time"

	"brainbox/dirchain"
)

// listed makes files from their names of one letter, ages in hours and sizes.
func listed(now time.Time, entries ...any) []file {
	var files []file
	for i := 0; i < len(entries); i += 3 {
		age := time.Duration(entries[i+1].(int)) * time.Hour
		files = append(files, file{uint64(entries[i].(string)[0]), dirchain.Stat{
			Size: int64(entries[i+2].(int)), Modified: now.Add(-age), Changed: now,
		}})
	}
	return files
}

func TestDecide(t *testing.T) {
	const day = 24
	now := time.Unix(1_800_000_000, 0)
	tests := []struct {
		name  string
		files []file
		most  int64
		want  string
	}{
		{"nothing", nil, 10, ""},
		{"young and small stay", listed(now, "a", 1, 5, "b", 2, 5), 10, ""},
		{"older than a week goes, exactly a week stays", listed(now, "a", 7*day, 1, "b", 7*day+1, 1), 10, "b:age"},
		{"the oldest go until the rest is small enough", listed(now, "a", 1, 4, "b", 3, 4, "c", 2, 4), 10, "b:size"},
		{"exactly the cap stays", listed(now, "a", 1, 5, "b", 2, 5), 10, ""},
		{"what goes by age counts for the cap", listed(now, "a", 8*day, 8, "b", 2, 5, "c", 1, 5), 10, "a:age"},
		{"one file above the cap goes", listed(now, "a", 1, 11), 10, "a:size"},
		{"of the same age the first goes", listed(now, "b", 1, 6, "a", 1, 6, "c", 2, 1), 10, "c:size b:size"},
		{"empty files go in their turn", listed(now, "a", 3, 0, "b", 2, 11, "c", 1, 0), 10, "a:size b:size"},
		{"a modification in the future is young", listed(now, "a", -5, 6, "b", 1, 6), 10, "b:size"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ranked := rank(tt.files, now.Add(-DefaultTTL))
			var got []string
			for _, c := range ranked[:choose(ranked, total(tt.files), tt.most)] {
				got = append(got, string(rune(c.key))+":"+string(c.reason))
			}
			if s := strings.Join(got, " "); s != tt.want {
				t.Errorf("goes: %q, want %q", s, tt.want)
			}
		})
	}
}

// TestUsed: the greatest time of tmpfs is no old one.
func TestUsed(t *testing.T) {
	now := time.Unix(1_800_000_000, 0)
	for set, want := range map[int64]int64{
		math.MaxInt64: now.Unix(), 1 << 40: now.Unix(), now.Unix() - 1: now.Unix() - 1, -1 << 40: -1 << 40, math.MinInt64: math.MinInt64,
	} {
		if got := used(dirchain.Stat{Modified: time.Unix(set, 0), Changed: now}); got.Unix() != want {
			t.Errorf("used(%d) = %v, want %d", set, got, want)
		}
	}
}

func TestTotalOverflows(t *testing.T) {
	files := make([]file, maxEntries)
	for i := range files {
		files[i].stat.Size = math.MaxInt64
	}
	if sum := total(files); sum < DefaultCap {
		t.Errorf("the sum of sparse files is %d", sum)
	}
}

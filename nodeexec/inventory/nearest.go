package inventory

import (
	"cmp"
	"slices"
)

// nearest lists up to three names that resemble the one asked for.
func (inv *Inventory) nearest(name string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	limit := max(2, len(name)/3)
	for _, h := range inv.graph.hostOrder {
		if far := distance(name, h.name, limit); far <= limit {
			found = append(found, candidate{h.name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int { return cmp.Compare(a.far, b.far) })
	var best []string
	for _, c := range found[:min(3, len(found))] {
		best = append(best, c.name)
	}
	return best
}

// distance counts the edits between two names, giving up above limit.
func distance(a, b string, limit int) int {
	if len(a)-len(b) > limit || len(b)-len(a) > limit {
		return limit + 1
	}
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := 1; i <= len(a); i++ {
		diagonal := row[0]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := diagonal
			if a[i-1] != b[j-1] {
				cost = 1 + min(diagonal, row[j], row[j-1])
			}
			diagonal, row[j] = row[j], cost
		}
	}
	return row[len(b)]
}

package main

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// fold writes names short, as node[01-12,15],web1, in the order of the first
// of each. A name takes part by one number in it; nothing is said twice and
// nothing is left out.
func fold(names []string) string {
	byShape := map[string][]numbered{}
	var shapes []string
	for _, name := range names {
		n := number(name)
		shape := strings.Join(n.text, "\x00")
		if byShape[shape] == nil {
			shapes = append(shapes, shape)
		}
		byShape[shape] = append(byShape[shape], n)
	}
	var parts []string
	for _, shape := range shapes {
		parts = append(parts, foldShape(byShape[shape])...)
	}
	return strings.Join(parts, ",")
}

// numbered is a name cut at its numbers: text, digits, text, ..., text.
type numbered struct{ text, digits []string }

var digitRun = regexp.MustCompile(`[0-9]+`)

func number(name string) numbered {
	var n numbered
	last := 0
	for _, at := range digitRun.FindAllStringIndex(name, -1) {
		if at[1]-at[0] > 18 { // no number that fits: text
			continue
		}
		n.text = append(n.text, name[last:at[0]])
		n.digits = append(n.digits, name[at[0]:at[1]])
		last = at[1]
	}
	n.text = append(n.text, name[last:])
	return n
}

// foldShape folds names that differ in their numbers only, by the number that
// takes the most values.
func foldShape(names []numbered) []string {
	by, most := -1, 0
	for d := range names[0].digits {
		values := map[string]bool{}
		for _, n := range names {
			values[n.digits[d]] = true
		}
		if len(values) >= most {
			by, most = d, len(values)
		}
	}
	if by < 0 {
		return []string{names[0].text[0]}
	}
	values := map[string][]string{} // by all that stands around the number
	var around []string
	for _, n := range names {
		before, after := "", n.text[len(n.text)-1]
		for d := range n.digits {
			if d < by {
				before += n.text[d] + n.digits[d]
			} else if d == by {
				before += n.text[d]
			}
		}
		for d := len(n.digits) - 1; d > by; d-- {
			after = n.text[d] + n.digits[d] + after
		}
		key := before + "\x00" + after
		if values[key] == nil {
			around = append(around, key)
		}
		values[key] = append(values[key], n.digits[by])
	}
	var parts []string
	for _, key := range around {
		before, after, _ := strings.Cut(key, "\x00")
		list := ranges(values[key])
		if strings.ContainsAny(list, ",-") {
			list = "[" + list + "]"
		}
		parts = append(parts, before+list+after)
	}
	return parts
}

// ranges writes numbers as 01-12,15. A range counts in the width of its first
// number where that starts with a zero, else without leading zeros.
func ranges(digits []string) string {
	value := func(s string) int { n, _ := strconv.Atoi(s); return n } // at most 18 digits
	digits = slices.Clone(digits)
	slices.SortFunc(digits, func(a, b string) int {
		return cmp.Or(cmp.Compare(value(a), value(b)), cmp.Compare(len(a), len(b)))
	})
	digits = slices.Compact(digits)
	var parts []string
	for i := 0; i < len(digits); {
		width := 1
		if digits[i][0] == '0' {
			width = len(digits[i])
		}
		end := i
		for end+1 < len(digits) && digits[end+1] == padded(value(digits[end])+1, width) {
			end++
		}
		part := digits[i]
		if end > i {
			part += "-" + digits[end]
		}
		parts = append(parts, part)
		i = end + 1
	}
	return strings.Join(parts, ",")
}

func padded(n, width int) string {
	s := strconv.Itoa(n)
	return strings.Repeat("0", max(0, width-len(s))) + s
}

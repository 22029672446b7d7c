package report

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/printable"
)

// githubLimit is how many annotations of one level GitHub shows for one step;
// it drops the rest without a word.
const githubLimit = 10

// writeGitHub writes workflow commands, worst first. Where a level has more
// than GitHub shows, the last one that it shows says so; those after it are
// still in the step's log.
// https://docs.github.com/actions/reference/workflow-commands-for-github-actions
func writeGitHub(w io.Writer, findings []contract.Finding, o Options) error {
	slices.SortStableFunc(findings, worstFirst)
	total := map[string]int{}
	for _, f := range findings {
		total[githubLevel(f.Severity)]++
	}
	var b bytes.Buffer
	written := map[string]int{}
	for _, f := range findings {
		level := githubLevel(f.Severity)
		if written[level] == githubLimit-1 && total[level] > githubLimit {
			more := fmt.Sprintf("%s in all, of which %d are not annotated: read the log of this step", plural(total[level], level), total[level]-written[level])
			b.WriteString(githubCommand(level, more, "title", "nestor"))
		}
		written[level]++

		properties := []string{"title", groupName(f.Endpoint) + ": " + f.Rule}
		if f.File != "" {
			properties = append(properties, "file", printable.Line(o.file(f.File)))
			if f.Line > 0 {
				properties = append(properties, "line", strconv.Itoa(f.Line))
				if f.Column > 0 {
					properties = append(properties, "col", strconv.Itoa(f.Column))
				}
			}
		}
		message := withRemedy(f)
		for _, p := range f.Related {
			message += "\nSee: " + o.place(p)
		}
		b.WriteString(githubCommand(level, message, properties...))
	}
	fmt.Fprintln(&b, Count(findings))
	_, err := w.Write(b.Bytes())
	return err
}

func githubLevel(s contract.Severity) string {
	if s == contract.Info {
		return "notice"
	}
	return string(s)
}

// githubCommand is one workflow command on one line; properties are names and
// values in turn.
func githubCommand(level, message string, properties ...string) string {
	var b strings.Builder
	b.WriteString("::" + level)
	separator := " "
	for pair := range slices.Chunk(properties, 2) {
		b.WriteString(separator + pair[0] + "=" + githubProperty(pair[1]))
		separator = ","
	}
	b.WriteString("::" + githubData(message) + "\n")
	return b.String()
}

// githubData escapes the text of a command.
func githubData(s string) string {
	return strings.NewReplacer("%", "%25", "\r", "%0D", "\n", "%0A").Replace(s)
}

// githubProperty escapes the value of a command's property.
func githubProperty(s string) string {
	return strings.NewReplacer(":", "%3A", ",", "%2C").Replace(githubData(s))
}

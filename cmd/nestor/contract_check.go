package main

import (
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"
	"github.com/spf13/cobra"

	"github.com/nestor-tools/nestor/contract"
	"github.com/nestor-tools/nestor/contract/report"
)

func newContractCheckCmd(c *cli, f *contractFlags) *cobra.Command {
	var outputs []string
	var failOn string
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Report what is not as promised, with the line on both sides",
		Long: `Report what is not as promised: endpoints without their Service or NodePort,
exposures that nobody promised, and what cannot be judged. Exit 0: nothing at
or above --fail-on; 1: findings; 2: a part could not be evaluated.`,
		Example: "  nestor contract check\n  nestor contract check --root bench/platform --output text --output sarif=findings.sarif",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if failOn != string(contract.Error) && failOn != string(contract.Warning) {
				return fmt.Errorf("--fail-on %q: use error or warning", failOn)
			}
			targets, err := parseOutputs(outputs)
			if err != nil {
				return err
			}
			l, err := c.load(cmd, f, false)
			if err != nil {
				return err
			}
			findings := l.check()
			if err := c.write(targets, findings, l, contract.Severity(failOn)); err != nil {
				return err
			}
			summary := report.Count(findings)
			switch {
			case contract.Unevaluated(findings):
				return fail(exitUnevaluated, nil)
			case summary.Error > 0 || (failOn == string(contract.Warning) && summary.Warning > 0):
				return fail(exitFindings, nil)
			}
			return nil
		},
	}
	cmd.Flags().StringArrayVarP(&outputs, "output", "o", []string{"text"}, "text, json, sarif, github, junit or markdown, for a file FORMAT=FILE; may be repeated")
	cmd.Flags().StringVar(&failOn, "fail-on", "error", "the mildest severity that makes the exit code 1: error or warning")
	return cmd
}

// output is a format and where it goes; "" is standard output.
type output struct {
	format report.Format
	file   string
}

func parseOutputs(texts []string) ([]output, error) {
	var all []output
	onStdout := 0
	for _, text := range texts {
		name, file, toFile := strings.Cut(text, "=")
		format, err := report.ParseFormat(name)
		if err != nil {
			return nil, fmt.Errorf("--output: %w", err)
		}
		if toFile && file == "" {
			return nil, fmt.Errorf("--output %s: no file after =", text)
		}
		if !toFile {
			onStdout++
		} else if slices.ContainsFunc(all, func(o output) bool { return filepath.Clean(o.file) == filepath.Clean(file) && o.file != "" }) {
			return nil, fmt.Errorf("--output %s: another format goes to that file", text)
		}
		all = append(all, output{format, file})
	}
	if onStdout > 1 {
		return nil, errors.New("--output: only one format can go to standard output; write the others as FORMAT=FILE")
	}
	return all, nil
}

func (c *cli) write(targets []output, findings []contract.Finding, l *loaded, failOn contract.Severity) error {
	o := report.Options{Rules: contract.Rules(), FailOn: failOn, Version: version}
	if l.set.Contract != nil {
		for _, e := range l.set.Endpoints {
			o.Endpoints = append(o.Endpoints, e.ID)
		}
	}
	for _, t := range targets {
		if o.Root = ""; t.format == report.SARIF || t.format == report.GitHub {
			o.Root = sourceRoot(l.options.Prefix) // they are read on other machines
		}
		if t.file == "" {
			_, noColor := c.env("NO_COLOR")
			o.Color = !noColor && isTerminal(c.out)
			if err := report.Write(c.out, t.format, findings, o); err != nil {
				return err
			}
			continue
		}
		o.Color = false
		var text strings.Builder
		if err := report.Write(&text, t.format, findings, o); err != nil {
			return err
		}
		if err := writeWhole(t.file, []byte(text.String())); err != nil {
			return fmt.Errorf("--output %s: %w", t.format, err)
		}
	}
	return nil
}

// sourceRoot is what absolute names of files are made relative to: the working
// directory, where a build has its repository; the folder of the manifests
// where that is elsewhere.
func sourceRoot(prefix string) string {
	here, err := os.Getwd()
	if err != nil {
		return prefix
	}
	real, err := filepath.EvalSymlinks(here) // a shell's name for it may be another
	if err != nil {
		real = here
	}
	for _, dir := range []string{here, real} {
		dir = strings.TrimSuffix(filepath.ToSlash(dir), "/")
		if prefix == dir || strings.HasPrefix(prefix, dir+"/") {
			return dir + "/"
		}
	}
	if path.IsAbs(prefix) {
		return prefix
	}
	return filepath.ToSlash(here)
}

// writeWhole replaces a file at once, so that whatever was there stays where
// that fails. A pipe or a device is written to.
func writeWhole(name string, b []byte) error {
	if info, err := os.Stat(name); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(name, b, 0o644)
	}
	if target, err := filepath.EvalSymlinks(name); err == nil {
		name = target // a link stays one
	}
	return renameio.WriteFile(name, b, 0o644)
}

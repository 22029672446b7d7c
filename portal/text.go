package portal

import (
	"fmt"
	"slices"
	"strings"
)

// Lang is a language of the page.
type Lang string

// The languages. English is what JSON and text are written in.
const (
	English Lang = "en"
	French  Lang = "fr"
)

// Languages gives those that the page is written in, English first.
func Languages() []Lang { return []Lang{English, French} }

// Text is a sentence in every language.
type Text struct {
	key  phrase
	args []any
	// literal is what was read back from JSON, in the language of JSON.
	literal string
}

// say makes a sentence from the catalogue.
func say(key phrase, args ...any) Text { return Text{key: key, args: args} }

// In gives the sentence in a language; in English where the language is not
// one of ours.
func (t Text) In(lang Lang) string {
	if t.key == "" {
		return t.literal
	}
	args := slices.Clone(t.args)
	for i, a := range args {
		if inner, ok := a.(Text); ok {
			args[i] = inner.In(lang)
		}
	}
	format := catalogue[t.key].in(lang)
	if len(args) == 0 {
		return format
	}
	return fmt.Sprintf(format, args...)
}

// String is the sentence in English.
func (t Text) String() string { return t.In(English) }

// MarshalText writes the sentence in English.
func (t Text) MarshalText() ([]byte, error) { return []byte(t.String()), nil }

// UnmarshalText reads what MarshalText wrote; it stays in English.
func (t *Text) UnmarshalText(b []byte) error {
	*t = Text{literal: strings.ToValidUTF8(string(b), "\uFFFD")}
	return nil
}

package main

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestVersion(t *testing.T) {
	code, out, _ := workstation{}.run(t, "version")
	assert.Zero(t, code)
	assert.Regexp(t, `^nestor \S+ \(go\S+, \w+/\w+\)\n$`, out)
	code, out, _ = workstation{}.run(t, "version", "-o", "json")
	assert.Zero(t, code)
	assert.Regexp(t, `^\{"go":"go\S+","version":".+"\}\n$`, out)
	code, out, errs := workstation{}.run(t, "version", "-o", "yaml")
	assert.Equal(t, exitUnevaluated, code)
	assert.Empty(t, out)
	assert.Equal(t, "nestor: --output \"yaml\" is not one of text, json\n", errs)
}

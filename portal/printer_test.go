package portal_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/nestor-tools/nestor/portal"
)

// What a Printer remembers shows nowhere.
func TestPrinter(t *testing.T) {
	views := []portal.View{
		judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"}),
		judgeDump(t, "troubled.yaml", portal.Options{Profile: "ceph"}),
		judgeDump(t, "troubled.yaml", portal.Options{Profile: "local-path"}),
		judgeDump(t, "healthy.yaml", portal.Options{Profile: "ceph"}, staleSince(observed)),
	}
	printer := portal.Printer{Options: portal.PageOptions{Live: true}}
	for i := range 12 {
		view := views[i*i%len(views)]
		if i%5 == 4 {
			view.Layers[0].Entries[0].Note += "!"
		}
		printer.Options.Lang = portal.Languages()[i/4%2]
		var kept, anew bytes.Buffer
		require.NoError(t, printer.Page(&kept, &view))
		require.NoError(t, portal.Page(&anew, &view, printer.Options))
		assert.Equal(t, anew.String(), kept.String())
	}
}

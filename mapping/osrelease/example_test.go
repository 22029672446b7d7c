package osrelease_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/osrelease"
)

func ExampleParse() {
	release, err := osrelease.Parse([]byte("ID=debian\nVERSION_ID=\"12\"\nVERSION_CODENAME=bookworm\n"))
	fmt.Println(release.ID, release.VersionID, release.Codename, err)
	// Output: debian 12 bookworm <nil>
}

package timesync_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/timesync"
)

func ExampleParse() {
	synchronized, err := timesync.Parse([]byte("NTP=yes\nNTPSynchronized=yes\n"))
	fmt.Println(synchronized, err)
	// Output: true <nil>
}

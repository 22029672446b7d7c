package units_test

import (
	"fmt"

	"github.com/nestor-tools/nestor/mapping/units"
)

func ExampleParse() {
	all, err := units.Parse([]byte("Id=auditd.service\nLoadState=loaded\nActiveState=active\nUnitFileState=enabled\n"))
	fmt.Println(all["auditd.service"].IsActive(), all["fail2ban.service"].Exists(), err)
	// Output: true false <nil>
}

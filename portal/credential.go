package portal

import (
	"regexp"
	"strings"

	"github.com/nestor-tools/nestor/contract"
)

// name is what the API allows in names of Secrets and in keys of them: nothing
// that a template or a shell would take for something else.
var name = regexp.MustCompile(`^[A-Za-z0-9]([-A-Za-z0-9_.]{0,251}[A-Za-z0-9])?$`)

// login gives the name to log in with and the command that shows the
// password, from the contract's credential or by the conventions that
// docs/portal.md lists. The command is never given with a placeholder, and
// never with a value.
func login(e *contract.Endpoint) (login, command string) {
	login = e.Login
	get := func(secret, template string) string {
		return kubectl("get secret", e.Namespace, secret, "-o", "go-template="+template)
	}
	value := func(key string) string { return `{{index .data "` + key + `" | base64decode}}{{"\n"}}` }
	c := e.Credential
	role := strings.ReplaceAll(e.Role, "_", "-")
	switch {
	case e.Auth == "none":
		return login, ""
	case c.Secret != "" && c.Key != "":
		if !name.MatchString(c.Secret) || !name.MatchString(c.Key) || (c.LoginKey != "" && !name.MatchString(c.LoginKey)) {
			return login, ""
		}
		template := value(c.Key)
		if c.LoginKey != "" {
			template = value(c.LoginKey) + template
		} else if login == "" && e.Auth == "secret-admin" {
			login = "admin"
		}
		return login, get(c.Secret, template)
	case c.Secret != "" && name.MatchString(c.Secret):
		return login, get(c.Secret, `{{range $key, $value := .data}}{{$key}}: {{$value | base64decode}}{{"\n"}}{{end}}`)
	case e.Auth == "token":
		account := "admin-user"
		if login != "" {
			account = login
		}
		return login, kubectl("create token", e.Namespace, account)
	case e.Auth == "secret-obc":
		return login, kubectl("get objectbucketclaims", e.Namespace, "")
	case e.Auth == "secret-role" && name.MatchString(role):
		if login == "" {
			login = e.Role
		}
		return login, get("pg-role-"+role, value("username")+value("password"))
	case e.Auth == "secret-admin" && login == "":
		login = "admin"
	}
	return login, ""
}

package kubeconfig

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/nestor-tools/nestor/nodeexec/kubeconfig/internal/merge"
)

// The three lists of a kubeconfig, and the key that holds what their entries
// are about.
var lists = []struct{ list, of string }{{"clusters", "cluster"}, {"users", "user"}, {"contexts", "context"}}

// Keys that a fetched kubeconfig may have, and those that tie it to the place
// where it lies. Any other key may be one more way to do so, and is refused.
var (
	portable = map[string][]string{
		"cluster": {"server", "certificate-authority-data", "tls-server-name", "disable-compression", "extensions"},
		"user":    {"client-certificate-data", "client-key-data", "token", "extensions"},
		"context": {"cluster", "user", "namespace", "extensions"},
	}
	tied = map[string]string{
		"certificate-authority": "names a file", "client-certificate": "names a file", "client-key": "names a file",
		"tokenFile": "names a file", "exec": "runs a program", "auth-provider": "runs a plugin",
		"proxy-url": "goes through a proxy of the node's", "insecure-skip-tls-verify": "switches off the check of the server's certificate",
		"username": "is a password login, which no API takes any more", "password": "is a password login, which no API takes any more",
		"as": "impersonates", "as-uid": "impersonates", "as-groups": "impersonates", "as-user-extra": "impersonates",
	}
)

// errEmpty: there is nothing, or nothing but comments.
var errEmpty = invalid("it is empty")

// open reads a kubeconfig's one YAML document, a mapping.
func open(b []byte) (*yaml.Node, error) {
	if len(bytes.TrimSpace(bytes.TrimPrefix(b, []byte("\ufeff")))) == 0 {
		return nil, errEmpty
	}
	decoder := yaml.NewDecoder(bytes.NewReader(b))
	var doc, next yaml.Node
	if err := decoder.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, errEmpty
		}
		return nil, invalid("it is no YAML%s", atLine(err))
	}
	if err := decoder.Decode(&next); !errors.Is(err, io.EOF) {
		return nil, invalid("it holds more than one YAML document")
	}
	root := doc.Content[0]
	if root.Kind == yaml.ScalarNode && root.Tag == "!!null" {
		return nil, errEmpty
	}
	if root.Kind != yaml.MappingNode {
		return nil, invalid("it is no mapping")
	}
	return &doc, nil
}

var lineNumber = regexp.MustCompile(`line (\d+)`)

// atLine is the line of a YAML error, whose text may quote the file.
func atLine(err error) string {
	if m := lineNumber.FindStringSubmatch(err.Error()); m != nil {
		return " (line " + m[1] + ")"
	}
	return ""
}

// at gives the value of a key, its alias followed; nil without one.
func at(m *yaml.Node, key string) (*yaml.Node, error) {
	var found *yaml.Node
	for i := 0; i+1 < len(m.Content); i += 2 {
		if m.Content[i].Value != key {
			continue
		}
		if found != nil {
			return nil, invalid("%s stands twice (line %d)", key, m.Content[i].Line)
		}
		found = target(m.Content[i+1])
	}
	return found, nil
}

func target(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func null(n *yaml.Node) bool { return n == nil || n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// text gives the string under a key, "" without one.
func text(m *yaml.Node, key string) (string, error) {
	n, err := at(m, key)
	if err != nil || null(n) {
		return "", err
	}
	if n.Kind != yaml.ScalarNode {
		return "", invalid("%s is no string (line %d)", key, n.Line)
	}
	return n.Value, nil
}

// entry gives what the list holds under a name.
func entry(root *yaml.Node, list, of, name string) (*yaml.Node, error) {
	var found *yaml.Node
	items, err := at(root, list)
	if err != nil {
		return nil, err
	}
	if !null(items) && items.Kind != yaml.SequenceNode {
		return nil, invalid("%s is no list (line %d)", list, items.Line)
	}
	if null(items) {
		return nil, nil
	}
	for _, item := range items.Content {
		item = target(item)
		if item.Kind != yaml.MappingNode {
			return nil, invalid("%s holds an entry that is no mapping (line %d)", list, item.Line)
		}
		switch n, err := text(item, "name"); {
		case err != nil:
			return nil, err
		case n != name:
			continue
		case found != nil:
			return nil, invalid("%s holds two entries of one name (line %d)", list, item.Line)
		}
		if found, err = at(item, of); err != nil {
			return nil, err
		}
		if found == nil || found.Kind != yaml.MappingNode {
			return nil, invalid("%s holds an entry without %s (line %d): it may be cut short", list, of, item.Line)
		}
	}
	return found, nil
}

// parse takes the current context of a kubeconfig.
func parse(b []byte) (*Config, error) {
	doc, err := open(b)
	if err != nil {
		return nil, err
	}
	root := doc.Content[0]
	var c Config
	if c.context, err = text(root, "current-context"); err != nil {
		return nil, err
	}
	if c.context == "" {
		return nil, invalid("it has no current-context: it may be cut short")
	}
	context, err := part(root, "contexts", "context", c.context)
	if err != nil {
		return nil, err
	}
	for key, field := range map[string]*string{"cluster": &c.cluster, "user": &c.user, "namespace": &c.namespace} {
		if *field, err = text(context, key); err != nil {
			return nil, err
		}
	}
	cluster, err := part(root, "clusters", "cluster", c.cluster)
	if err != nil {
		return nil, err
	}
	user, err := part(root, "users", "user", c.user)
	if err != nil {
		return nil, err
	}
	if c.server, err = text(cluster, "server"); err != nil {
		return nil, err
	}
	if c.tlsServerName, err = text(cluster, "tls-server-name"); err != nil {
		return nil, err
	}
	if c.token, err = text(user, "token"); err != nil {
		return nil, err
	}
	if c.ca, err = data(cluster, "certificate-authority-data"); err != nil {
		return nil, err
	}
	if c.cert, err = data(user, "client-certificate-data"); err != nil {
		return nil, err
	}
	c.key, err = data(user, "client-key-data")
	return &c, err
}

// part is an entry that must be there, and must work elsewhere.
func part(root *yaml.Node, list, of, name string) (*yaml.Node, error) {
	if name == "" {
		return nil, invalid("its context names no %s", of)
	}
	m, err := entry(root, list, of, name)
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, invalid("%s lacks the entry of the current context: it may be cut short", list)
	}
	for i := 0; i+1 < len(m.Content); i += 2 {
		key, value := m.Content[i], m.Content[i+1]
		switch why := tied[key.Value]; {
		case slices.Contains(portable[of], key.Value), key.Value == "insecure-skip-tls-verify" && value.Value == "false":
		case why != "":
			return nil, fmt.Errorf("%w: its %s (line %d) %s", ErrNotPortable, key.Value, key.Line, why)
		default: // the key itself could be a piece of a secret
			return nil, fmt.Errorf("%w: its %s has a key that nestor does not know (line %d)", ErrNotPortable, of, key.Line)
		}
	}
	return m, nil
}

// data gives the bytes that stand under a key in base64.
func data(m *yaml.Node, key string) ([]byte, error) {
	s, err := text(m, key)
	if err != nil || s == "" {
		return nil, err
	}
	b, err := decode64(s)
	if err != nil {
		return nil, invalid("its %s is no base64: it may be cut short", key)
	}
	return b, nil
}

// entry is c's entry in a list, its fields in kubectl's order; an empty value
// stands for no key. A context without a namespace says nothing of it: the
// user's own stays.
func (c *Config) entry(list, of string) merge.Entry {
	e := merge.Entry{List: list, Of: of, Name: c.nameOf(of)}
	switch of {
	case "cluster":
		e.Fields = []merge.Field{{Key: "certificate-authority-data", Value: encoded(c.ca)}, {Key: "server", Value: c.server}, {Key: "tls-server-name", Value: c.tlsServerName}}
	case "user":
		e.Fields = []merge.Field{{Key: "client-certificate-data", Value: encoded(c.cert)}, {Key: "client-key-data", Value: encoded(c.key)}, {Key: "token", Value: c.token}}
	case "context":
		e.Fields = []merge.Field{{Key: "cluster", Value: c.cluster}, {Key: "namespace", Value: c.namespace}, {Key: "user", Value: c.user}}
		e.Fields = slices.DeleteFunc(e.Fields, func(f merge.Field) bool { return f.Value == "" })
	}
	return e
}

// decode64 reads base64 that may be folded over several lines.
func decode64(s string) ([]byte, error) {
	return base64.StdEncoding.DecodeString(strings.Join(strings.Fields(s), ""))
}

func encoded(b []byte) string { return base64.StdEncoding.EncodeToString(b) }

// nameOf is the name of c's entry in a list.
func (c *Config) nameOf(of string) string {
	return map[string]string{"cluster": c.cluster, "user": c.user, "context": c.context}[of]
}

// YAML is the kubeconfig as a file of its own. It holds the secrets.
func (c *Config) YAML() ([]byte, error) {
	root := &yaml.Node{Kind: yaml.MappingNode}
	add := func(key string, value *yaml.Node) { root.Content = append(root.Content, merge.Scalar(key), value) }
	add("apiVersion", merge.Scalar("v1"))
	add("kind", merge.Scalar("Config"))
	for _, l := range lists {
		add(l.list, &yaml.Node{Kind: yaml.SequenceNode, Content: []*yaml.Node{c.entry(l.list, l.of).Item()}})
	}
	add("current-context", merge.Scalar(c.context))
	return encode(root)
}

func encode(n *yaml.Node) ([]byte, error) {
	var b bytes.Buffer
	e := yaml.NewEncoder(&b)
	e.SetIndent(2)
	if err := e.Encode(n); err != nil {
		return nil, err
	}
	return b.Bytes(), e.Close()
}

// held is what a user's kubeconfig has under the names of c.
type held struct {
	cluster, user, context bool
	server                 string
	ca                     []byte // of the cluster's entry
	caFile                 string // named by it in place of ca
	contexts               []binding
	current                string
}

// binding is what a context of the file joins.
type binding struct{ name, cluster, user string }

// hold reads what a user's kubeconfig says of the names of c. Nothing else of
// it has to make sense.
func hold(b []byte, c *Config) (h held, err error) {
	doc, err := open(b)
	if err != nil {
		return held{}, err
	}
	root := doc.Content[0]
	if h.current, err = text(root, "current-context"); err != nil {
		return held{}, err
	}
	cluster, err := entry(root, "clusters", "cluster", c.cluster)
	if err != nil {
		return held{}, err
	}
	if h.cluster = cluster != nil; h.cluster {
		if h.ca, err = data(cluster, "certificate-authority-data"); err != nil {
			return held{}, err
		}
		if h.caFile, err = text(cluster, "certificate-authority"); err != nil {
			return held{}, err
		}
		if h.server, err = text(cluster, "server"); err != nil {
			return held{}, err
		}
	}
	user, err := entry(root, "users", "user", c.user)
	if err != nil {
		return held{}, err
	}
	context, err := entry(root, "contexts", "context", c.context)
	if err != nil {
		return held{}, err
	}
	h.user, h.context = user != nil, context != nil
	h.contexts, err = bindings(root)
	return h, err
}

// bindings are the contexts of a kubeconfig.
func bindings(root *yaml.Node) (list []binding, err error) {
	items, err := at(root, "contexts")
	if err != nil || null(items) {
		return nil, err
	}
	for _, item := range items.Content { // entry has seen that it is a list of mappings
		item = target(item)
		var b binding
		if b.name, err = text(item, "name"); err != nil {
			return nil, err
		}
		context, err := at(item, "context")
		if err != nil {
			return nil, err
		}
		if context == nil || context.Kind != yaml.MappingNode {
			continue
		}
		if b.cluster, err = text(context, "cluster"); err != nil {
			return nil, err
		}
		if b.user, err = text(context, "user"); err != nil {
			return nil, err
		}
		list = append(list, b)
	}
	return list, nil
}

// masked is a kubeconfig as people may see it: its values sorted out by tell,
// which is asked for each scalar below an entry with the key above it.
func masked(b []byte, tell func(key, value string) string) (string, error) {
	doc, err := open(b)
	if err != nil {
		return "", err
	}
	var walk func(n *yaml.Node, key string, secret bool)
	walk = func(n *yaml.Node, key string, secret bool) {
		n.HeadComment, n.LineComment, n.FootComment, n.Anchor = "", "", "", "" // a comment may hold a secret too
		switch n.Kind {
		case yaml.ScalarNode:
			if s := n.Value; !null(n) && (secret || slices.Contains(shownOtherwise, key)) {
				*n = *merge.Scalar(tell(key, s))
			}
		case yaml.AliasNode:
			*n = *merge.Scalar("(alias)")
		case yaml.MappingNode:
			for i := 0; i+1 < len(n.Content); i += 2 {
				k := n.Content[i]
				k.HeadComment, k.LineComment, k.FootComment = "", "", ""
				walk(n.Content[i+1], k.Value, secret && !slices.Contains(public, k.Value) || k.Value == "user" && n.Content[i+1].Kind == yaml.MappingNode)
			}
		default:
			for _, item := range n.Content {
				walk(item, key, secret)
			}
		}
	}
	walk(doc.Content[0], "", false)
	text, err := encode(doc.Content[0])
	return string(text), err
}

// What is shown of a user, and what is shown by its meaning.
var (
	public         = []string{"client-certificate", "client-key", "tokenFile", "username"}
	shownOtherwise = []string{"certificate-authority-data", "client-certificate-data", "client-key-data", "token", "password"}
)

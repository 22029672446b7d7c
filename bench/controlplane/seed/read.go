// Package seed puts plain Kubernetes YAML on an API server, status included,
// thousands of objects at a time:
//
//	apiVersion: v1
//	kind: Node
//	metadata: {name: node1}
//	status:
//	  conditions: [{type: Ready, status: "True"}]
//
// Documents are separated by "---"; a List is read as its items; fields that
// only a server may set (uid, resourceVersion, ...) are dropped, so the output
// of kubectl get -o yaml can be used. Kinds that the server does not know,
// unreadable YAML and duplicate keys are refused, with file and line.
package seed

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
)

// Object is one object to create.
type Object struct {
	unstructured.Unstructured
	// Source is where the object's document begins, as file:line.
	Source string
}

func (o Object) String() string {
	name := o.GetName()
	if ns := o.GetNamespace(); ns != "" {
		name = ns + "/" + name
	}
	return fmt.Sprintf("%s: %s %s", o.Source, o.GetKind(), name)
}

// Read returns the objects of a YAML or JSON stream, in its order. name is
// what errors call the stream.
func Read(name string, r io.Reader) ([]Object, error) {
	var objects []Object
	var doc bytes.Buffer
	first := 1
	flush := func(next int) error {
		more, err := readDocument(name, first, doc.Bytes())
		objects = append(objects, more...)
		doc.Reset()
		first = next
		return err
	}
	lines := bufio.NewReader(r)
	for number := 1; ; number++ {
		line, err := lines.ReadString('\n')
		if err != nil && err != io.EOF {
			return nil, fmt.Errorf("%s:%d: %w", name, number, err)
		}
		// A line that starts with --- is a document marker wherever it
		// stands, even inside a block scalar.
		if text := strings.TrimRight(line, " \t\r\n"); text == "---" || strings.HasPrefix(text, "--- ") {
			if err := flush(number); err != nil {
				return nil, err
			}
			line = strings.TrimPrefix(line, "---")
		}
		doc.WriteString(line)
		if err == io.EOF {
			return objects, flush(number)
		}
	}
}

func readDocument(name string, first int, doc []byte) ([]Object, error) {
	source := fmt.Sprintf("%s:%d", name, first)
	json, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		// Once more with the lines before it, so that the parser's line
		// numbers are the file's; on one line.
		_, err = yaml.YAMLToJSONStrict(append(bytes.Repeat([]byte("\n"), first-1), doc...))
		return nil, fmt.Errorf("%s: %s", source, strings.Join(strings.Fields(err.Error()), " "))
	}
	if string(json) == "null" { // comments only
		return nil, nil
	}
	decoded, err := runtime.Decode(unstructured.UnstructuredJSONScheme, json)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	var objects []Object
	add := func(o runtime.Object) error {
		u := o.(*unstructured.Unstructured)
		if u.GetName() == "" {
			return fmt.Errorf("%s: %s without metadata.name", source, u.GetKind())
		}
		for _, field := range []string{"uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink"} {
			unstructured.RemoveNestedField(u.Object, "metadata", field)
		}
		objects = append(objects, Object{Unstructured: *u, Source: source})
		return nil
	}
	if list, ok := decoded.(*unstructured.UnstructuredList); ok {
		return objects, list.EachListItem(add)
	}
	return objects, add(decoded)
}

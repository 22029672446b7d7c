package contract

import (
	"slices"
	"strings"

	"github.com/nestor-tools/nestor/contract/yamldoc"
)

// Platform is what namespaces-secrets.yaml promises. The file may hold more,
// for people.
type Platform struct {
	Namespaces   []Named // all of them
	Applications []Named // those of namespaces.applicatif, that an AppProject opens
	ProjectFile  string  // where the AppProject is
	Roles        []Named // Secrets of database roles
	Secrets      []SecretPromise
	File         string
}

// Named is a name and its place.
type Named struct {
	Name string
	At   Position
}

// SecretPromise is a Secret with the keys that programs read in it.
type SecretPromise struct {
	Name, Namespace string
	Keys            []Named
	Example         string // the versioned file that shows its shape
	At, ExampleAt   Position
}

// Storage is what storage-classes.yaml promises.
type Storage struct {
	Profiles []StorageProfile
	File     string
}

// StorageProfile is the storage of one profile.
type StorageProfile struct {
	Name        string
	Default     Named
	Classes     []StorageClass
	BucketClass Named
	S3          Named // host:port
}

// StorageClass is a promised storage class.
type StorageClass struct {
	Name, Provisioner, Source string
	Default                   bool
	At, ProvisionerAt         Position
}

// ParsePlatform reads a namespaces-secrets.yaml.
func ParsePlatform(name string, b []byte) (*Platform, []Finding) {
	r := &fileReader{file: name}
	root, ok := r.document(b)
	if !ok {
		return nil, r.findings
	}
	p := &Platform{File: name}
	for key, group := range root.Get("namespaces").Pairs() {
		for item := range group.Get("items").Items() {
			n := r.named(item.Get("name"))
			if n.Name == "" {
				continue
			}
			p.Namespaces = append(p.Namespaces, n)
			if strings.HasPrefix(key.Text(), "appli") {
				p.Applications = append(p.Applications, n)
				p.ProjectFile = group.Get("source").Text()
			}
		}
	}
	for _, group := range root.Get("secrets").Pairs() {
		r.secrets(p, group, group)
	}
	return p, r.findings
}

func (r *fileReader) named(n yamldoc.Node) Named { return Named{n.Text(), r.at(n)} }

// secrets reads one group: a Secret of its own, a list of them, or a mapping
// whose items share its namespace, keys and example.
func (r *fileReader) secrets(p *Platform, n, group yamldoc.Node) {
	for item := range n.Items() {
		r.secrets(p, item, group)
	}
	for item := range n.Get("items").Items() {
		r.secrets(p, item, n)
	}
	name := n.Get("secret")
	if name.Kind() != yamldoc.Scalar {
		return
	}
	shared := func(field string) yamldoc.Node {
		if own := n.Get(field); own.Kind() != yamldoc.Missing {
			return own
		}
		return group.Get(field)
	}
	s := SecretPromise{Name: name.Text(), Namespace: shared("namespace").Text(), Example: shared("example_file").Text(), At: r.at(name), ExampleAt: r.at(shared("example_file"))}
	if key := shared("key"); key.Kind() == yamldoc.Scalar {
		s.Keys = append(s.Keys, r.named(key))
	}
	for key := range shared("keys").Items() {
		s.Keys = append(s.Keys, r.named(key))
	}
	p.Secrets = append(p.Secrets, s)
	if n.Get("role").Kind() == yamldoc.Scalar {
		p.Roles = append(p.Roles, Named{s.Name, s.At})
	}
}

// names tells whether the file names a Secret. A nil Platform names none.
func (p *Platform) names(secret string) bool {
	return p != nil && slices.ContainsFunc(p.Secrets, func(s SecretPromise) bool { return s.Name == secret })
}

// ParseStorage reads a storage-classes.yaml.
func ParseStorage(name string, b []byte) (*Storage, []Finding) {
	r := &fileReader{file: name}
	root, ok := r.document(b)
	if !ok {
		return nil, r.findings
	}
	s := &Storage{File: name}
	for key, n := range root.Get("profils").Pairs() {
		p := StorageProfile{Name: key.Text(), Default: r.named(n.Get("default_storage_class")),
			BucketClass: r.named(n.Get("object_store", "bucket_storage_class")), S3: r.named(n.Get("object_store", "endpoint"))}
		for item := range n.Get("storage_classes").Items() {
			c := StorageClass{Name: item.Get("name").Text(), Provisioner: item.Get("provisioner").Text(), Source: item.Get("source").Text(),
				At: r.at(item.Get("name")), ProvisionerAt: r.at(item.Get("provisioner"))}
			c.Default, _ = item.Get("default").Bool()
			p.Classes = append(p.Classes, c)
		}
		s.Profiles = append(s.Profiles, p)
	}
	return s, r.findings
}

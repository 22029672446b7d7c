package contract

import (
	"fmt"
	"path"
	"slices"

	"github.com/nestor-tools/nestor/contract/kube"
	"github.com/nestor-tools/nestor/contract/manifest"
)

// storage compares storage-classes.yaml with the manifests and the contract.
func (c *checker) storage() {
	if c.Storage == nil {
		return
	}
	for _, p := range c.Storage.Profiles {
		for _, promised := range p.Classes {
			c.storageClass(promised)
		}
		known := func(name string) bool {
			return slices.ContainsFunc(p.Classes, func(s StorageClass) bool { return s.Name == name }) || c.class(name, "") != nil
		}
		if p.Default.Name != "" && !known(p.Default.Name) {
			c.report("storageclass-missing", p.Default.At, "", fmt.Sprintf("default storage class %s of profile %s is not among its storage_classes", p.Default.Name, p.Name), "write the name of one of them")
		}
		if p.BucketClass.Name != "" && !known(p.BucketClass.Name) {
			c.report("storageclass-missing", p.BucketClass.At, "", fmt.Sprintf("bucket storage class %s of profile %s is in no manifest", p.BucketClass.Name, p.Name), "mend the name, or add the StorageClass")
		}
		c.s3(p)
	}
}

func (c *checker) class(name, source string) *manifest.StorageClass {
	for i := range c.tree.StorageClasses {
		s := &c.tree.StorageClasses[i]
		if s.Name == name && (source == "" || c.in(source, s.At)) {
			return s
		}
	}
	return nil
}

func (c *checker) storageClass(promised StorageClass) {
	if promised.Source != "" && !c.exists(promised.Source) {
		c.report("source-missing", promised.At, "", fmt.Sprintf("source %s of storage class %s does not exist", promised.Source, promised.Name), "write the file or the folder that holds it")
		return
	}
	found := c.class(promised.Name, promised.Source)
	if found == nil {
		c.report("storageclass-missing", promised.At, "", fmt.Sprintf("%s has no StorageClass %s", promised.Source, promised.Name), "mend the name or the source, or add the StorageClass")
		return
	}
	if promised.Provisioner != "" && promised.Provisioner != found.Provisioner {
		c.report("storageclass-provisioner", promised.ProvisionerAt, "", fmt.Sprintf("StorageClass %s has provisioner %s, not %s", found.Name, found.Provisioner, promised.Provisioner), "write what the manifest says", pos(found.ProvisionerAt))
	}
	if promised.Default && !found.Default {
		c.report("storageclass-default", promised.At, "", fmt.Sprintf("StorageClass %s is promised as the default and is not annotated as such", found.Name), `add the annotation storageclass.kubernetes.io/is-default-class: "true", unless an installer does`, pos(found.At))
	}
}

// s3 compares a profile's S3 endpoint with the contract's.
func (c *checker) s3(p StorageProfile) {
	if p.S3.Name == "" {
		return
	}
	var want []string
	var related []Position
	for _, e := range c.Endpoints {
		address := fmt.Sprintf("%s:%d", e.FQDN, e.Port)
		if address == p.S3.Name {
			return
		}
		if e.Profil == p.Name {
			want = append(want, address)
			related = append(related, e.At("fqdn"))
		}
	}
	remedy := "add the endpoint to the contract"
	if len(want) == 1 {
		remedy = "write " + want[0]
	}
	c.report("s3-endpoint", p.S3.At, "", fmt.Sprintf("no endpoint of the contract is %s", p.S3.Name), remedy, related...)
}

// secrets compares namespaces-secrets.yaml with the manifests and the
// contract.
func (c *checker) secrets() {
	if c.Platform == nil {
		return
	}
	declared := func(name string) bool {
		return slices.ContainsFunc(c.Platform.Namespaces, func(n Named) bool { return n.Name == name })
	}
	if len(c.Platform.Namespaces) > 0 {
		for _, e := range c.Endpoints {
			if e.Namespace != "" && !declared(e.Namespace) {
				c.report("namespace-undeclared", e.At("namespace"), e.ID, fmt.Sprintf("namespace %s is not in %s", e.Namespace, path.Base(c.Platform.File)), "add it there, or mend the name")
			}
		}
		for _, s := range c.Platform.Secrets {
			if s.Namespace != "" && !declared(s.Namespace) {
				c.report("namespace-undeclared", s.At, "", fmt.Sprintf("namespace %s of Secret %s is not declared", s.Namespace, s.Name), "add it under namespaces:, or mend the name")
			}
		}
	}
	for _, s := range c.Platform.Secrets {
		c.example(s)
	}
	if len(c.tree.Databases) > 0 {
		for _, role := range c.Platform.Roles {
			used := slices.ContainsFunc(c.tree.Databases, func(d manifest.Database) bool {
				for _, s := range d.Secrets {
					if s.Name == role.Name {
						return true
					}
				}
				return false
			})
			if !used {
				c.report("secret-role", role.At, "", fmt.Sprintf("Secret %s is the password of no role of a database cluster", role.Name), "mend the name, or add the role with its passwordSecret", pos(c.tree.Databases[0].At))
			}
		}
	}
	c.projects()
}

// example checks the versioned sample of a Secret.
func (c *checker) example(s SecretPromise) {
	if s.Example == "" {
		return
	}
	if !c.exists(s.Example) {
		c.report("secret-example", s.ExampleAt, "", fmt.Sprintf("example file %s of Secret %s does not exist", s.Example, s.Name), "write the file that shows the Secret", s.At)
		return
	}
	for _, found := range c.tree.Secrets {
		if found.Name != s.Name || !c.in(s.Example, found.At) {
			continue
		}
		for _, key := range s.Keys {
			if !slices.Contains(found.Keys, key.Name) {
				c.report("secret-key", key.At, "", fmt.Sprintf("the example of Secret %s has no key %s", s.Name, key.Name), "write the key as the program reads it, in both files", pos(found.At))
			}
		}
		return
	}
	c.report("secret-example", s.At, "", fmt.Sprintf("%s holds no Secret %s", s.Example, s.Name), "add it to the example, or mend the name", s.ExampleAt)
}

// projects compares the application namespaces with the destinations of the
// AppProjects in the file that is named beside them.
func (c *checker) projects() {
	if c.Platform.ProjectFile == "" {
		return
	}
	var destinations, projects []kube.Object
	for _, p := range c.tree.Projects {
		if c.in(c.Platform.ProjectFile, p.At) {
			destinations = append(destinations, p.Namespaces...)
			projects = append(projects, p.Object)
		}
	}
	if len(projects) == 0 {
		return
	}
	for _, d := range destinations {
		if d.Name != "*" && !slices.ContainsFunc(c.Platform.Applications, func(n Named) bool { return opens(d.Name, n.Name) }) {
			c.report("appproject-undeclared", pos(d.At), "", fmt.Sprintf("destination %s of an AppProject is not in %s", d.Name, path.Base(c.Platform.File)), "add it under namespaces:, or remove the destination")
		}
	}
	for _, n := range c.Platform.Applications {
		if !slices.ContainsFunc(destinations, func(d kube.Object) bool { return opens(d.Name, n.Name) }) {
			c.report("appproject-destination", n.At, "", fmt.Sprintf("namespace %s is not a destination of AppProject %s", n.Name, projects[0].Name), "add the destination, or remove the namespace", pos(projects[0].At))
		}
	}
}

// opens tells whether a destination, which may hold *, is for a namespace.
func opens(destination, namespace string) bool {
	ok, err := path.Match(destination, namespace)
	return err == nil && ok
}

package cluster

import "strings"

// image is a container image's name, taken apart.
type image struct {
	path []string // of the repository, without the registry: argoproj, argocd
	tag  string   // empty: none, or a digest alone
}

// parseImage takes "registry:5000/argoproj/argocd:v3@sha256:..." apart. The
// rule for what is a registry is that of the OCI references: the first part,
// when it has a dot or a port or is localhost.
func parseImage(name string) image {
	name, _, _ = strings.Cut(name, "@")
	var i image
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, '/') {
		name, i.tag = name[:at], name[at+1:]
	}
	i.path = strings.Split(name, "/")
	if first := i.path[0]; len(i.path) > 1 && (strings.ContainsAny(first, ".:") || first == "localhost") {
		i.path = i.path[1:]
	}
	return i
}

// find looks the repository up by its longest ending that is known, so that a
// mirror's prefix does not matter. An ending of one word must be the whole
// name, or an official image: too many are called "registry".
func (i image) find(known map[string]*rule) (r *rule, ending string) {
	last := len(i.path) - 1
	for at := range i.path {
		if at == last && at > 0 && i.path[at-1] != "library" {
			break
		}
		ending := strings.Join(i.path[at:], "/")
		if r := known[ending]; r != nil {
			return r, ending
		}
	}
	return nil, ""
}

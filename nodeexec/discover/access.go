package discover

import (
	"errors"
	"fmt"
	"io/fs"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Access is a way to an API that a kubeconfig of the user's own describes.
type Access struct {
	Config *rest.Config
	CA     []byte // PEM; nil where the system's authorities are trusted
}

// ErrInsecure is of a kubeconfig that does not check who answers.
var ErrInsecure = errors.New("the kubeconfig checks no certificate: what answers there proves nothing")

// LoadKubeconfig reads the current context of the kubeconfigs, the first of
// which wins where they contradict each other, as kubectl does. Unlike a
// fetched one, it may name files and run the programs that it names: it is the
// user's. Errors name the file and never what it holds.
func LoadKubeconfig(files []string) (Access, error) {
	var rules clientcmd.ClientConfigLoadingRules
	rules.Precedence = files
	if len(files) == 1 {
		rules.Precedence, rules.ExplicitPath = nil, files[0] // one that is missing is then an error
	}
	loaded, err := rules.Load()
	if missing, ok := errors.AsType[*fs.PathError](err); ok {
		return Access{}, missing
	}
	if err != nil { // the cause may quote the file
		return Access{}, errors.New("it cannot be read as a kubeconfig; see what kubectl config view says of it")
	}
	if len(loaded.Contexts) == 0 {
		return Access{}, errors.New("it names no context")
	}
	config, err := clientcmd.NewNonInteractiveClientConfig(*loaded, "", &clientcmd.ConfigOverrides{}, nil).ClientConfig()
	if err != nil {
		return Access{}, fmt.Errorf("its context %q cannot be used; see what kubectl config view says of it", loaded.CurrentContext)
	}
	if config.Insecure {
		return Access{}, ErrInsecure
	}
	if err := rest.LoadTLSFiles(config); err != nil {
		if missing, ok := errors.AsType[*fs.PathError](err); ok {
			return Access{}, missing
		}
		return Access{}, errors.New("its certificates cannot be read")
	}
	return Access{Config: config, CA: config.CAData}, nil
}

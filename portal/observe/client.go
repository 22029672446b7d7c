package observe

import (
	"fmt"
	"net/http"

	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// client talks to the three API groups that are needed. The typed clients of
// client-go would bring all the others into the binary and into its start.
type client struct {
	http   *http.Client
	codec  runtime.ParameterCodec
	groups map[schema.GroupVersion]rest.Interface
}

func newClient(config *rest.Config) (*client, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, discoveryv1.AddToScheme, authorizationv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})

	config = rest.CopyConfig(config)
	config.UserAgent = "nestor-portal"
	config.QPS = -1    // requests are few, and bounded by what asks
	config.Timeout = 0 // of a whole watch; requests have deadlines of their own
	config.WarningHandler = rest.NoWarnings{}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON

	c := &client{codec: runtime.NewParameterCodec(scheme), groups: map[schema.GroupVersion]rest.Interface{}}
	var err error
	if c.http, err = rest.HTTPClientFor(config); err != nil {
		return nil, fmt.Errorf("prepare the client of the API server: %w", err)
	}
	for _, version := range []schema.GroupVersion{corev1.SchemeGroupVersion, discoveryv1.SchemeGroupVersion, authorizationv1.SchemeGroupVersion} {
		of := rest.CopyConfig(config)
		of.GroupVersion = &version
		of.APIPath = "/apis"
		if version.Group == "" {
			of.APIPath = "/api"
		}
		if c.groups[version], err = rest.RESTClientForConfigAndClient(of, c.http); err != nil {
			return nil, fmt.Errorf("prepare the client of the API server: %w", err)
		}
	}
	return c, nil
}

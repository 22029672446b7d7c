package discover

import (
	"context"
	"errors"
	"io"
	"net/http"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
)

// apiClient talks to the four API groups whose objects are looked into, and
// asks all others for names alone. The typed clients of client-go would bring
// every group there is into the binary, and double it.
type apiClient struct {
	http   *http.Client
	params runtime.ParameterCodec
	groups map[schema.GroupVersion]rest.Interface
	names  metadata.Interface
}

func newAPIClient(config *rest.Config) (*apiClient, error) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, appsv1.AddToScheme, batchv1.AddToScheme, storagev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // Status, in answers of all groups

	config = rest.CopyConfig(config)
	config.QPS = -1 // some dozen calls: nothing to hold back
	config.UserAgent = "nestor-discover"
	config.WarningHandler = rest.NoWarnings{} // of deprecated versions, on stderr
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return bounding{next} })
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	// An API sends nobody elsewhere, and the credentials would go along.
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }

	c := &apiClient{http: client, params: runtime.NewParameterCodec(scheme), groups: map[schema.GroupVersion]rest.Interface{}}
	if c.names, err = metadata.NewForConfigAndClient(config, client); err != nil {
		return nil, err
	}
	config.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	config.ContentType = runtime.ContentTypeProtobuf
	config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	for _, version := range []schema.GroupVersion{corev1.SchemeGroupVersion, appsv1.SchemeGroupVersion, batchv1.SchemeGroupVersion, storagev1.SchemeGroupVersion} {
		of := rest.CopyConfig(config)
		of.GroupVersion, of.APIPath = &version, "/apis"
		if version.Group == "" {
			of.APIPath = "/api"
		}
		if c.groups[version], err = rest.RESTClientForConfigAndClient(of, client); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// raw is what the server answers at a path, in JSON.
func (c *apiClient) raw(ctx context.Context, path string) ([]byte, error) {
	return c.groups[corev1.SchemeGroupVersion].Get().AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx).Raw()
}

// list reads one page of a resource, of all namespaces.
func (c *apiClient) list(ctx context.Context, of schema.GroupVersionResource, o metav1.ListOptions, into interface {
	runtime.Object
	metav1.ListInterface
}) error {
	if err := c.groups[of.GroupVersion()].Get().Resource(of.Resource).VersionedParams(&o, c.params).Do(ctx).Into(into); err != nil {
		return err
	}
	return whole(into)
}

// errNoList is of an answer that decodes into an empty list and is none.
var errNoList = errors.New("not what a Kubernetes API answers: a list without a resourceVersion")

// whole tells a list from an answer of another kind.
func whole(list metav1.ListInterface) error {
	if list.GetResourceVersion() == "" {
		return errNoList
	}
	return nil
}

// maxAnswer is far above a page of 500 objects: a server that goes on sending
// must not fill the memory before the deadline ends it.
const maxAnswer = 256 << 20

var errEndless = errors.New("an answer larger than 256 MiB")

// bounding ends answers that are larger than maxAnswer, unpacked.
type bounding struct{ next http.RoundTripper }

func (b bounding) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.next.RoundTrip(r)
	if err == nil {
		response.Body = &boundedBody{response.Body, maxAnswer}
	}
	return response, err
}

type boundedBody struct {
	io.ReadCloser
	left int64
}

func (b *boundedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if b.left -= int64(n); b.left < 0 {
		return 0, errEndless
	}
	return n, err
}

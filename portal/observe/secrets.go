package observe

import (
	"context"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// mostNamespaces bounds how many namespaces are asked about one by one.
const mostNamespaces = 100

// secretsReadable asks the server whether this reader may get or list Secrets,
// in all namespaces or in one of those named; nil where no answer came.
func (c *client) secretsReadable(ctx context.Context, namespaces []string, timeout time.Duration) *bool {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	questions := []authorizationv1.ResourceAttributes{{Verb: "get", Resource: "secrets"}, {Verb: "list", Resource: "secrets"}}
	for _, namespace := range namespaces[:min(len(namespaces), mostNamespaces)] {
		questions = append(questions, authorizationv1.ResourceAttributes{Verb: "get", Resource: "secrets", Namespace: namespace})
	}
	readable := false
	for _, question := range questions {
		review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &question}}
		answer := &authorizationv1.SelfSubjectAccessReview{}
		err := c.groups[authorizationv1.SchemeGroupVersion].Post().Resource("selfsubjectaccessreviews").
			VersionedParams(&metav1.CreateOptions{}, c.codec).Body(review).Do(ctx).Into(answer)
		if err != nil {
			return nil
		}
		if answer.Status.Allowed {
			readable = true
			break
		}
	}
	return &readable
}

package observe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// failure is what keeps a resource from being read.
type failure struct {
	denied bool
	why    string
	since  time.Time // of the first of an unbroken run of them
}

// describe says in one line what err means for those who mend it. Its text may
// come from a server that is not to be trusted with a terminal or a page.
func describe(err error, resource schema.GroupVersionResource) failure {
	switch {
	case apierrors.IsForbidden(err):
		return failure{denied: true, why: fmt.Sprintf("HTTP 403: no role of this reader has the rule {apiGroups: [%q], resources: [%s], verbs: [get, list, watch]}",
			resource.Group, resource.Resource)}
	case apierrors.IsUnauthorized(err):
		return failure{denied: true, why: "HTTP 401: the API server does not accept this token or certificate"}
	case errors.Is(err, context.DeadlineExceeded):
		return failure{why: "no answer in time from the API server"}
	}
	return failure{why: oneLine(err.Error())}
}

func oneLine(text string) string {
	const most = 300
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, "?"), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "..."
	}
	return text
}

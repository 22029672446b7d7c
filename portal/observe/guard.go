package observe

import (
	"net/http"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// guard hands on the events of a watch, tells alive of each, and ends a watch
// that stays silent. Servers send a bookmark about every minute, so silence
// means that the way to us is broken, or loses bookmarks, and maybe events.
// The end is the one after which a reflector lists anew: 410 Gone.
func guard(inner watch.Interface, done func(), silence time.Duration, alive func()) watch.Interface {
	events := make(chan watch.Event)
	outer := watch.NewProxyWatcher(events)
	go func() {
		defer close(events)
		defer done()
		defer inner.Stop()
		timer := time.NewTimer(silence)
		defer timer.Stop()
		hand := func(event watch.Event) bool {
			select {
			case events <- event:
				return true
			case <-outer.StopChan():
				return false
			}
		}
		for {
			select {
			case <-outer.StopChan():
				return
			case event, ok := <-inner.ResultChan():
				if !ok {
					return
				}
				if event.Type != watch.Error {
					alive()
				}
				if !hand(event) {
					return
				}
				timer.Reset(silence)
			case <-timer.C:
				hand(watch.Event{Type: watch.Error, Object: &metav1.Status{
					Status: metav1.StatusFailure, Reason: metav1.StatusReasonExpired, Code: http.StatusGone,
					Message: "the watch was silent for too long",
				}})
				return
			}
		}
	}()
	return outer
}

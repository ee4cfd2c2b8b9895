package imagetest

import (
	"net/http"
	"strings"
	"time"
)

// slowStep is between two pieces of an answer.
const slowStep = 20 * time.Millisecond

// Slow has a registry send each layer at so many bytes a second.
func Slow(bytesPerSecond int) func(http.Handler) http.Handler {
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/blobs/") {
				w = &slow{w, max(1, int(int64(bytesPerSecond)*int64(slowStep)/int64(time.Second)))}
			}
			next.ServeHTTP(w, r)
		})
	}
}

type slow struct {
	http.ResponseWriter
	step int
}

func (s *slow) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var wrote int
		wrote, err = s.ResponseWriter.Write(p[:min(s.step, len(p))])
		n, p = n+wrote, p[wrote:]
		_ = http.NewResponseController(s.ResponseWriter).Flush()
		time.Sleep(slowStep)
	}
	return n, err
}

package serve

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/rs/cors"
)

// ErrOrigin: what is named is not the origin of one site.
var ErrOrigin = errors.New("it is not the origin of one site")

// Origins are those of other sites whose pages may use the server. A browser lets no page read the answers of another site that
// does not allow it (https://fetch.spec.whatwg.org/#http-cors-protocol).
type Origins struct {
	all  map[string]bool
	cors *cors.Cors
}

// ParseOrigins reads origins such as https://app.example. None gives nil, which allows no other site. Error: ErrOrigin.
func ParseOrigins(list []string) (*Origins, error) {
	if len(list) == 0 {
		return nil, nil
	}
	o := &Origins{all: map[string]bool{}}
	for _, origin := range list {
		u, err := url.Parse(origin)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Contains(u.Host, "*") || origin != u.Scheme+"://"+strings.ToLower(u.Host) {
			return nil, fmt.Errorf("%w: %q", ErrOrigin, origin)
		}
		o.all[origin] = true
	}
	// Tokens are in a header and not in a cookie: a browser sends none unasked.
	o.cors = cors.New(cors.Options{
		AllowedOrigins: list, AllowedMethods: []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete},
		AllowedHeaders: []string{"*"}, MaxAge: 600,
	})
	return o, nil
}

func (o *Origins) has(origin string) bool { return o != nil && o.all[origin] }

// wrap answers what browsers ask before a page's request, and tells them which pages may read an answer.
func (o *Origins) wrap(next http.Handler) http.Handler {
	if o == nil {
		return next
	}
	return o.cors.Handler(next)
}

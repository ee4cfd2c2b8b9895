package serve

import (
	"context"
	"crypto/subtle"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/gantry-market/gantry/client/team"
	"github.com/gantry-market/gantry/internal/secret"
)

const (
	// codeLasts is how long the code of the page's link may be used.
	codeLasts = 15 * time.Minute
	// signedIn is how long a browser stays signed in.
	signedIn = 12 * time.Hour
	// signInPath is where a page exchanges its code; it needs no token.
	signInPath = "/page/session"
)

// signIns lets a browser in: with a code that is good once, for a token of its own. The code is in the fragment of a link,
// which a browser sends to nobody; what it leaves in the browser's history is worth nothing once it is used. The token is
// no cookie: cookies of 127.0.0.1 go to the servers of all its ports, other users' among them. Both end with the server.
type signIns struct {
	now func() time.Time

	mu     sync.Mutex
	code   [32]byte // sha256; zero where there is none
	until  time.Time
	tokens map[[32]byte]signedInAs // by sha256 of a token
}

// signedInAs is a browser's member, until when.
type signedInAs struct {
	member string
	until  time.Time
}

// offer makes a code in place of the one before.
func (s *signIns) offer() (string, error) {
	code, err := secret.New("")
	if err != nil {
		return "", err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.code, s.until = secret.Hash(code), s.now().Add(codeLasts)
	return code, nil
}

// exchange takes the code for a token; ok is false where it is not the code, or one that is used or too old.
func (s *signIns) exchange(code string) (token string, until time.Time, ok bool, err error) {
	got := secret.Hash(code)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.code == [32]byte{} || !s.now().Before(s.until) || subtle.ConstantTimeCompare(got[:], s.code[:]) != 1 {
		return "", time.Time{}, false, nil
	}
	if token, until, err = s.add(team.MemberServer); err == nil {
		s.code = [32]byte{}
	}
	return token, until, err == nil, err
}

// admit makes a token for a browser that has shown otherwise that it is a member's.
func (s *signIns) admit(member string) (token string, until time.Time, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.add(member)
}

// add makes a token. The caller holds mu.
func (s *signIns) add(member string) (token string, until time.Time, err error) {
	if token, err = secret.New(tokenPrefix + "page_"); err != nil {
		return "", time.Time{}, err
	}
	until = s.now().Add(signedIn)
	s.tokens[secret.Hash(token)] = signedInAs{member, until}
	return token, until, nil
}

// member is whose browser has a token; ok is false where none has.
func (s *signIns) member(token string) (name string, ok bool) {
	key := secret.Hash(token)
	s.mu.Lock()
	defer s.mu.Unlock()
	as, known := s.tokens[key]
	if known && !s.now().Before(as.until) {
		delete(s.tokens, key)
		known = false
	}
	return as.member, known
}

// end signs a browser out.
func (s *signIns) end(token string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tokens, secret.Hash(token))
}

// PageLink is the page's path and fragment, with a code that signs one browser in. It takes the place of the link before.
func (s *Server) PageLink() (string, error) {
	code, err := s.signIns.offer()
	return "/#code=" + code, err
}

type signInInput struct {
	Body struct {
		Code string `json:"code" minLength:"1" maxLength:"64"`
	}
}

// signInReply is what a browser gets for its code.
type signInReply struct {
	Token string `json:"token"`
	Until int64  `json:"until"`
}

// registerPage adds the operations that only the page uses; they are not in the document.
func (s *Server) registerPage(api huma.API) {
	in := huma.Operation{OperationID: "sign-in", Method: http.MethodPost, Path: signInPath, Hidden: true}
	huma.Register(api, in, func(_ context.Context, in *signInInput) (*reply[signInReply], error) {
		token, until, ok, err := s.signIns.exchange(in.Body.Code)
		if err != nil {
			return nil, failed(err)
		}
		if !ok {
			return nil, problem(http.StatusUnauthorized, fmt.Sprintf("the code in the page's address is used, or older than %s", codeLasts),
				"give the server's token instead, or start gantry serve again and open the link that it prints")
		}
		if err := s.signedIn(team.MemberServer); err != nil {
			s.signIns.end(token)
			return nil, failed(err)
		}
		return &reply[signInReply]{signInReply{Token: token, Until: until.Unix()}}, nil
	})
	type signOutInput struct {
		Authorization string `header:"Authorization"`
	}
	out := huma.Operation{OperationID: "sign-out", Method: http.MethodDelete, Path: signInPath, Hidden: true, DefaultStatus: http.StatusNoContent}
	huma.Register(api, out, func(_ context.Context, in *signOutInput) (*struct{}, error) {
		s.signIns.end(strings.TrimSpace(strings.TrimPrefix(in.Authorization, "Bearer ")))
		return &struct{}{}, nil
	})
}

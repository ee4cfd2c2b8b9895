package signing

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	stdlog "log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/rs/zerolog"

	"github.com/gantry-market/gantry/internal/options"
	"github.com/gantry-market/gantry/keeper/store"
)

// DefaultTTL is how long a keeper that is not heard keeps the hold.
const DefaultTTL = 10 * time.Second

// ServerOptions of a Server; all but Log and Now are required.
type ServerOptions struct {
	Key *Protected
	TTL time.Duration // of the hold
	Log zerolog.Logger
	Now func() time.Time
}

// Server answers the keepers that share a key, one at a time.
type Server struct {
	o    ServerOptions
	hold *hold
	mux  *http.ServeMux
	// paths are all that are answered, as docs/protocol/signer.md lists them.
	paths []string
}

// NewServer serves a key. Error: options.ErrMissing.
func NewServer(o ServerOptions) (*Server, error) {
	if err := options.Complete("signer", o, "Log", "Now"); err != nil {
		return nil, err
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	s := &Server{o: o, hold: newHold(o.TTL, o.Now), mux: http.NewServeMux()}
	s.routes()
	return s, nil
}

// Serve answers on a listener until ctx ends.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{
		Handler: s.mux, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute, WriteTimeout: 5 * time.Minute, IdleTimeout: 10 * time.Minute,
		ErrorLog:    stdlog.New(debugLog{s.o.Log}, "", 0), // such as connections of others
		BaseContext: func(net.Listener) context.Context { return ctx },
	}
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		<-ctx.Done()
		limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		defer cancel()
		if srv.Shutdown(limit) != nil {
			_ = srv.Close() // a keeper reads too slowly
		}
	}()
	err := srv.Serve(l)
	if errors.Is(err, http.ErrServerClosed) {
		<-stopped
		return nil
	}
	return err
}

// debugLog takes what package http logs.
type debugLog struct{ log zerolog.Logger }

func (d debugLog) Write(line []byte) (int, error) {
	d.log.Debug().Str("http", strings.TrimSpace(string(line))).Msg("signer closes a connection")
	return len(line), nil
}

// route answers a path, for the holder only.
func route[I, O any](s *Server, path string, f func(I) (O, error)) {
	s.handle(path, func(by Holder, w http.ResponseWriter, r *http.Request) error {
		var in I
		if err := decode(w, r, &in); err != nil {
			return err
		}
		var out O
		err := s.hold.do(by, func() (err error) {
			out, err = f(in)
			return err
		})
		if err != nil {
			return err
		}
		return json.NewEncoder(w).Encode(out)
	})
}

// handle answers a path; an error becomes a failure with a status that a person who looks at the traffic understands.
func (s *Server) handle(path string, f func(Holder, http.ResponseWriter, *http.Request) error) {
	s.paths = append(s.paths, path)
	s.mux.HandleFunc("POST /"+Version+"/"+path, func(w http.ResponseWriter, r *http.Request) {
		by, err := holderOf(r)
		if err == nil {
			err = f(by, w, r)
		}
		if err == nil {
			return
		}
		status := http.StatusInternalServerError
		switch {
		case errors.Is(err, errBody):
			status = http.StatusBadRequest
		case codeOf(err) != "failed":
			status = http.StatusConflict
		}
		s.o.Log.WithLevel(levelOf(err)).Err(err).Str("request", path).Msg("signer does not do what a keeper asks for")
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(failure{codeOf(err), err.Error()}) // the keeper is gone
	})
}

func levelOf(err error) zerolog.Level {
	switch {
	case errors.Is(err, ErrRefused), errors.Is(err, store.ErrFrozen), errors.Is(err, errBody):
		return zerolog.WarnLevel
	case codeOf(err) == "failed", codeOf(err) == "damaged":
		return zerolog.ErrorLevel
	}
	return zerolog.DebugLevel
}

func holderOf(r *http.Request) (Holder, error) {
	raw, err := hex.DecodeString(r.Header.Get(holderHeader))
	if err != nil || len(raw) != len(Holder{}) {
		return Holder{}, fmt.Errorf("%w: header %s is not 16 bytes in hex", errBody, holderHeader)
	}
	return Holder(raw), nil
}

func decode(w http.ResponseWriter, r *http.Request, into any) error {
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("%w: %w", errBody, err)
	}
	return nil
}

// take handles a keeper that wants the hold, or goes on having it.
func (s *Server) take(by Holder, w http.ResponseWriter, r *http.Request) error {
	var in holdRequest
	if err := decode(w, r, &in); err != nil {
		return err
	}
	before := s.holder()
	granted := s.hold.take(by, in.Had)
	if granted && before != by {
		s.o.Log.Info().Stringer("holder", by).Str("from", r.RemoteAddr).Msg("a keeper takes the hold")
	}
	at, err := s.o.Key.Position()
	if err != nil {
		return err
	}
	key, domain := s.o.Key.PublicKey(), s.o.Key.domain
	return json.NewEncoder(w).Encode(holdAnswer{
		Granted: granted, TTL: s.o.TTL.Milliseconds(), Key: key[:], Domain: domain[:], First: s.o.Key.FirstPeriod(),
		File: at.File[:], Sequence: at.Sequence,
	})
}

func (s *Server) holder() Holder {
	s.hold.mu.RLock()
	defer s.hold.mu.RUnlock()
	return s.hold.holder
}

func (s *Server) release(by Holder, w http.ResponseWriter, _ *http.Request) error {
	s.hold.release(by)
	s.o.Log.Info().Stringer("holder", by).Msg("a keeper gives the hold back")
	return json.NewEncoder(w).Encode(empty{})
}

package serve

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"
	"github.com/gagliardetto/solana-go"

	"github.com/gantry-market/gantry/client/service"
)

// Outputs opens the output of leases' jobs. It is safe for concurrent use.
type Outputs interface {
	// Output opens that of a lease of the customer, until ctx ends or it is closed. Error: service.ErrNoLease.
	Output(ctx context.Context, lease solana.PublicKey) (Output, error)
}

// Output is that of one job; see service.Logs.
type Output interface {
	Read(ctx context.Context, offset uint64, take func(service.Output) error) (ended bool, err error)
	Follow(ctx context.Context, offset uint64, take func(service.Output) error) error
	Close()
}

// Logs is a part of a job's output.
type Logs struct {
	Lease  string `json:"lease"`
	Offset uint64 `json:"offset" doc:"Of the text's first byte in the output"`
	Next   uint64 `json:"next" doc:"Offset behind the text; ask with it for what comes later"`
	Text   string `json:"text" doc:"Bytes that are not UTF-8 are replaced"`
	Ended  bool   `json:"ended" doc:"The output is complete"`
}

// LogEvent is a piece of a job's output in a stream.
type LogEvent struct {
	Offset uint64 `json:"offset"`
	Text   string `json:"text"`
}

type logsInput struct {
	ID     string `path:"id" minLength:"32" maxLength:"44" pattern:"^[1-9A-HJ-NP-Za-km-z]+$" doc:"Address of the lease"`
	Follow bool   `query:"follow" doc:"Answer with server-sent events until the job ends: output, whose id is the offset behind its text; then end, or problem with an error's document"`
	Offset uint64 `query:"offset" doc:"Where to begin, bytes from the output's beginning"`
	Tail   uint32 `query:"tail" minimum:"1" maximum:"262144" default:"65536" doc:"The most that is answered without follow, bytes: the last ones"`
	Last   string `header:"Last-Event-ID" maxLength:"19" pattern:"^[0-9]*$" doc:"Go on behind this event of a stream; it counts before offset"`
}

// isStream reports whether a request is answered with a stream, which has no time limit.
func isStream(r *http.Request) bool {
	if r.URL.Path == eventsPath {
		return r.Method == http.MethodGet
	}
	follow, err := strconv.ParseBool(r.URL.Query().Get("follow"))
	return r.Method == http.MethodGet && err == nil && follow && strings.HasPrefix(r.URL.Path, apiLeasesPath) && strings.HasSuffix(r.URL.Path, "/logs")
}

// registerLogs adds the operation.
func (s *Server) registerLogs(api huma.API) {
	op := read("get-logs", "/v1/leases/{id}/logs", "The output of a lease's job")
	op.Description = "The end of it as a document or, with follow, all of it as server-sent events. A stream that is opened again with Last-Event-ID continues without a gap and without a repetition."
	op.Errors = append(op.Errors, http.StatusServiceUnavailable)
	op.Responses = map[string]*huma.Response{"200": {Description: "OK", Content: map[string]*huma.MediaType{
		"application/json":  {Schema: api.OpenAPI().Components.Schemas.Schema(reflect.TypeFor[Logs](), true, "")},
		"text/event-stream": {Schema: &huma.Schema{Type: huma.TypeString}},
	}}}
	huma.Register(api, op, s.logs)
}

func (s *Server) logs(ctx context.Context, in *logsInput) (*huma.StreamResponse, error) {
	id, err := address(in.ID)
	if err != nil {
		return nil, err
	}
	if in.Last != "" {
		if in.Offset, err = strconv.ParseUint(in.Last, 10, 64); err != nil {
			return nil, problem(http.StatusUnprocessableEntity, "the header Last-Event-ID is not one of a stream of logs", "send the id of the last event")
		}
	}
	a, err := s.actorOf(ctx, id, true)
	if err != nil {
		return nil, err
	}
	// What is answered at once holds no place of a stream, and has as many of its own.
	places := &s.streams
	if !in.Follow {
		places = &s.reads
	}
	ctx, done, err := places.open(ctx)
	if err != nil {
		return nil, err
	}
	out, err := a.Outputs.Output(ctx, id)
	if err != nil {
		done()
		return nil, failed(err)
	}
	if in.Follow {
		return &huma.StreamResponse{Body: func(h huma.Context) {
			defer done()
			defer out.Close()
			_, w := humago.Unwrap(h)
			s.follow(ctx, newStream(w, done), out, in.Offset)
		}}, nil
	}
	defer done()
	defer out.Close()
	l, err := Tail(ctx, out, in.Offset, int(in.Tail))
	if err != nil {
		return nil, failed(err)
	}
	l.Lease = in.ID
	return &huma.StreamResponse{Body: func(h huma.Context) {
		h.SetHeader("Content-Type", "application/json")
		_ = json.NewEncoder(h.BodyWriter()).Encode(l) // a client that is gone does not read it
	}}, nil
}

// Tail reads from an offset on and keeps the last bytes. The caller names the lease.
func Tail(ctx context.Context, out Output, offset uint64, most int) (Logs, error) {
	var kept []byte
	next := offset
	ended, err := out.Read(ctx, offset, func(o service.Output) error {
		if o.Offset != next {
			kept = kept[:0] // what is between is gone: the text is of one piece
		}
		kept = append(kept, o.Data...)
		if len(kept) > most {
			kept = append(kept[:0], kept[len(kept)-most:]...)
		}
		next = o.Offset + uint64(len(o.Data))
		return nil
	})
	if !ended {
		n := whole(kept)
		next -= uint64(len(kept) - n) // the rest of the character comes with it
		kept = kept[:n]
	}
	return Logs{Offset: next - uint64(len(kept)), Next: next, Text: strings.ToValidUTF8(string(kept), "\uFFFD"), Ended: ended}, err
}

// follow streams output. Text is cut between characters, so that no id is in the middle of one.
func (s *Server) follow(ctx context.Context, w *stream, out Output, offset uint64) {
	defer w.beats(ctx)()
	var pending []byte // the beginning of a character, whose rest comes
	at := offset       // of pending
	send := func(n int) error {
		e := LogEvent{Offset: at, Text: strings.ToValidUTF8(string(pending[:n]), "\uFFFD")}
		at += uint64(n)
		pending = append(pending[:0], pending[n:]...)
		return w.send("output", strconv.FormatUint(at, 10), e)
	}
	err := out.Follow(ctx, offset, func(o service.Output) error {
		if o.Offset != at+uint64(len(pending)) {
			pending, at = pending[:0], o.Offset
		}
		pending = append(pending, o.Data...)
		if n := whole(pending); n > 0 {
			return send(n)
		}
		return nil
	})
	switch {
	case ctx.Err() != nil || w.err() != nil:
	case err != nil:
		_ = w.send("problem", "", failed(err))
	default:
		if len(pending) > 0 && send(len(pending)) != nil {
			return
		}
		_ = w.send("end", "", struct{}{})
	}
}

// whole is how many bytes there are before a character at the end whose rest is missing.
func whole(b []byte) int {
	for i := 1; i <= min(utf8.UTFMax-1, len(b)); i++ {
		if utf8.RuneStart(b[len(b)-i]) {
			if !utf8.FullRune(b[len(b)-i:]) {
				return len(b) - i
			}
			break
		}
	}
	return len(b)
}

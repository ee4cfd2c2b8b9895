package inference

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
)

const (
	// maxBody is how large a request may be, bytes: pictures and recordings are in it.
	maxBody = 32 << 20
	// maxBodies is how many bytes of requests there are in memory at once.
	maxBodies = 512 << 20
	// maxStreams is how many requests there are at once, those that wait included.
	maxStreams = 8192
	// prefix is how many bytes of a request's beginning are compared.
	prefix = 4 << 10
)

// request is one as it is forwarded.
type request struct {
	operation
	endpoint    string
	contentType string
	body        []byte
	stream      bool
	// asked: the client wants usage at the end of the stream. It is asked for anyway, and taken out where nobody wants it.
	asked    bool
	affinity uint64
	// promptBytes is how much text the prompt is, for servers that report no tokens.
	promptBytes int
}

// parseRequest reads what of a request matters here. The rest goes on as it is. upstream is the model as its server knows it.
func parseRequest(path, contentType string, raw []byte, upstream func(model string) (string, error)) (*request, error) {
	r := &request{operation: operations[path], endpoint: endpoint(path), contentType: "application/json"}
	if r.form {
		return r, r.parseForm(contentType, raw, upstream)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, invalid("", "the body is not a JSON object")
	}
	var model string
	if err := json.Unmarshal(fields["model"], &model); err != nil || model == "" {
		return nil, noName()
	}
	there, err := upstream(model)
	if err != nil {
		return nil, err
	}
	for field, why := range r.refused {
		if v := string(fields[field]); v != "" && v != "null" && v != "false" {
			return nil, invalid(field, why)
		}
	}
	if text, ok := fields["stream"]; ok && string(text) != "null" {
		if err := json.Unmarshal(text, &r.stream); err != nil {
			return nil, invalid("stream", "stream is not true or false")
		}
	}
	if r.stream && !r.streams {
		return nil, invalid("stream", r.endpoint+" cannot be streamed")
	}
	if fields["model"], err = json.Marshal(there); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if r.stream && r.dialect.asks {
		if err := r.askForUsage(fields); err != nil {
			return nil, err
		}
	}
	r.affinity, r.promptBytes = beginning(fields, r.conversation)
	if r.body, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return r, nil
}

// askForUsage has the model server report usage at the end of a stream.
func (r *request) askForUsage(fields map[string]json.RawMessage) (err error) {
	options := map[string]json.RawMessage{}
	if text, ok := fields["stream_options"]; ok && string(text) != "null" {
		if err := json.Unmarshal(text, &options); err != nil {
			return invalid("stream_options", "stream_options is not an object")
		}
	}
	r.asked, _ = strconv.ParseBool(string(options["include_usage"]))
	options["include_usage"] = json.RawMessage("true")
	if fields["stream_options"], err = json.Marshal(options); err != nil {
		return fmt.Errorf("stream options: %w", err)
	}
	return nil
}

func noName() *apiError {
	return invalid("model", "model is missing, or no text; it is the name of a deployment")
}

// beginning is a number for what a conversation or a prompt begins with, which stays as a conversation grows: model servers
// keep what they have computed of it. It is 0 for operations without a conversation. The second result is the prompt's length.
func beginning(fields map[string]json.RawMessage, conversation string) (affinity uint64, length int) {
	text := append(slices.Clone(fields["instructions"]), fields["system"]...)
	if conversation == "" {
		return 0, len(fields["input"]) + len(fields["prompt"])
	}
	said := fields[conversation]
	length = len(text) + len(said)
	var list []json.RawMessage
	switch {
	case !there(said):
		return 0, length
	case json.Unmarshal(said, &list) == nil:
		for _, m := range list[:min(2, len(list))] {
			text = append(text, m...)
		}
	case conversation == "messages":
		return 0, length // a list is wanted
	default:
		text = append(text, said...)
	}
	h := fnv.New64a()
	_, _ = h.Write(text[:min(prefix, len(text))])
	return h.Sum64() | 1, length
}

// apiError is an error with what OpenAI's API says of one; other dialects say it in their own way.
type apiError struct {
	status     int
	retryAfter int    // seconds; 0 for none
	Message    string `json:"message"`
	Type       string `json:"type"`
	Param      string `json:"param,omitempty"`
	Code       string `json:"code,omitempty"`
}

func (e *apiError) Error() string { return e.Message }

func invalid(param, message string) *apiError {
	return &apiError{status: http.StatusBadRequest, Message: message, Type: "invalid_request_error", Param: param}
}

func (e *apiError) write(w http.ResponseWriter, d *dialect) {
	w.Header().Set("Content-Type", "application/json")
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	w.WriteHeader(e.status)
	_ = json.NewEncoder(w).Encode(d.failure(e)) // a client that is gone does not read it
}

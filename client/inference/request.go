package inference

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"net/http"
	"strconv"
)

const (
	// maxBody is how large a request may be, bytes: pictures are in it.
	maxBody = 16 << 20
	// maxBodies is how many bytes of requests there are in memory at once.
	maxBodies = 512 << 20
	// maxStreams is how many requests there are at once, those that wait included.
	maxStreams = 8192
	// prefix is how many bytes of a request's beginning are compared.
	prefix = 4 << 10
)

// endpoints are the operations that are forwarded, by their path behind the API's, and whether they may be streamed.
var endpoints = map[string]bool{"/chat/completions": true, "/completions": true, "/embeddings": false}

// request is one as it is forwarded.
type request struct {
	endpoint string
	body     []byte
	stream   bool
	// asked: the client wants usage at the end of the stream. It is asked for anyway, and taken out where nobody wants it.
	asked    bool
	affinity uint64
	// promptBytes is how much text the prompt is, for servers that report no tokens.
	promptBytes int
}

// parseRequest reads what of a request matters here. The rest goes on as it is. upstream is the model as its server knows it.
func parseRequest(endpoint string, raw []byte, upstream func(model string) (string, error)) (*request, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil || fields == nil {
		return nil, invalid("", "the body is not a JSON object")
	}
	var model string
	if err := json.Unmarshal(fields["model"], &model); err != nil || model == "" {
		return nil, invalid("model", "model is missing, or no text; it is the name of a deployment")
	}
	there, err := upstream(model)
	if err != nil {
		return nil, err
	}
	r := &request{endpoint: endpoint}
	if text, ok := fields["stream"]; ok && string(text) != "null" {
		if err := json.Unmarshal(text, &r.stream); err != nil {
			return nil, invalid("stream", "stream is not true or false")
		}
	}
	if r.stream && !endpoints[endpoint] {
		return nil, invalid("stream", endpoint+" cannot be streamed")
	}
	if fields["model"], err = json.Marshal(there); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if r.stream {
		options := map[string]json.RawMessage{}
		if text, ok := fields["stream_options"]; ok && string(text) != "null" {
			if err := json.Unmarshal(text, &options); err != nil {
				return nil, invalid("stream_options", "stream_options is not an object")
			}
		}
		r.asked, _ = strconv.ParseBool(string(options["include_usage"]))
		options["include_usage"] = json.RawMessage("true")
		if fields["stream_options"], err = json.Marshal(options); err != nil {
			return nil, fmt.Errorf("stream options: %w", err)
		}
	}
	r.affinity, r.promptBytes = beginning(fields)
	if r.body, err = json.Marshal(fields); err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	return r, nil
}

// beginning is a number for what a conversation or a prompt begins with, which stays as a conversation grows: model servers
// keep what they have computed of it. It is 0 where there is none. The second result is the prompt's length.
func beginning(fields map[string]json.RawMessage) (affinity uint64, length int) {
	text := fields["messages"]
	length = len(text)
	if text != nil {
		var messages []json.RawMessage
		if err := json.Unmarshal(text, &messages); err != nil {
			return 0, length
		}
		text = nil
		for _, m := range messages[:min(2, len(messages))] {
			text = append(text, m...)
		}
	} else {
		text = fields["prompt"]
		if text == nil {
			return 0, len(fields["input"])
		}
		length = len(text)
	}
	h := fnv.New64a()
	_, _ = h.Write(text[:min(prefix, len(text))])
	return h.Sum64() | 1, length
}

// apiError is an error as OpenAI's API has it.
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

func (e *apiError) document() []byte {
	raw, err := json.Marshal(map[string]any{"error": e})
	if err != nil {
		return []byte(`{"error":{"message":"error","type":"server_error"}}`) // texts can always be encoded
	}
	return raw
}

func (e *apiError) write(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/json")
	if e.retryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	w.WriteHeader(e.status)
	_, _ = w.Write(e.document()) // a client that is gone does not read it
}

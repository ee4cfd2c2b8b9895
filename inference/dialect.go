package inference

import (
	"encoding/json"
	"net/http"
	"strings"
)

// dialect is how an API writes errors and streams.
type dialect struct {
	// failure is an error as a document.
	failure func(e *apiError) any
	// broken is the event that ends a stream whose replica is gone.
	broken func(e *apiError) (event string, document any)
	// read is what an event of a stream says. raw is its data, a JSON document.
	read func(raw []byte) event
	// asks: usage comes at the end of a stream only where the request asks for it, by stream_options.
	asks bool
}

// lost adds the event that ends a stream whose replica is gone.
func (d *dialect) lost(to []byte, e *apiError) []byte {
	name, document := d.broken(e)
	if name != "" {
		to = append(append(append(to, "event: "...), name...), '\n')
	}
	raw, err := json.Marshal(document)
	if err != nil {
		raw = []byte(`{}`) // texts can always be encoded
	}
	return append(append(append(to, "data: "...), raw...), "\n\n"...)
}

// event is what matters of an event of a stream.
type event struct {
	said  int  // pieces of the answer
	ended bool // nothing of the answer follows
	whole bool // the answer is whole, and its stream ends with [DONE]
	usage *tokens
	// report: it is a report of usage, and nothing else.
	report bool
}

// chat is the dialect of OpenAI's chat completions, and of its operations without a stream.
var chat = dialect{
	failure: func(e *apiError) any { return map[string]any{"error": e} },
	broken:  func(e *apiError) (string, any) { return "", map[string]any{"error": e} },
	read:    readChat,
	asks:    true,
}

func readChat(raw []byte) (out event) {
	var chunk struct {
		Choices []choice        `json:"choices"`
		Usage   *tokens         `json:"usage"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &chunk) != nil {
		return out
	}
	failed := there(chunk.Error) // the server's own error
	for i := range chunk.Choices {
		if chunk.Choices[i].says() {
			out.said++
		}
		out.whole = out.whole || chunk.Choices[i].Finish != nil && !failed
	}
	out.ended = failed || out.whole
	out.usage, out.report = chunk.Usage, chunk.Usage != nil && len(chunk.Choices) == 0
	return out
}

// responses is the dialect of OpenAI's responses.
var responses = dialect{
	failure: chat.failure,
	broken: func(e *apiError) (string, any) {
		return "error", map[string]any{"type": "error", "code": e.Code, "message": e.Message, "param": nil}
	},
	read: func(raw []byte) (out event) {
		var e struct {
			Type     string `json:"type"`
			Response struct {
				Usage *tokens `json:"usage"`
			} `json:"response"`
		}
		if json.Unmarshal(raw, &e) != nil {
			return out
		}
		if strings.HasSuffix(e.Type, ".delta") {
			out.said = 1
		}
		switch e.Type {
		case "response.completed", "response.incomplete", "response.failed", "error":
			out.ended, out.usage = true, e.Response.Usage
		}
		return out
	},
}

// messages is the dialect of Anthropic's messages.
var messages = dialect{
	failure: anthropicError,
	broken:  func(e *apiError) (string, any) { return "error", anthropicError(e) },
	read: func(raw []byte) (out event) {
		var e struct {
			Type    string  `json:"type"`
			Usage   *tokens `json:"usage"`
			Message struct {
				Usage *tokens `json:"usage"`
			} `json:"message"`
		}
		if json.Unmarshal(raw, &e) != nil {
			return out
		}
		switch e.Type {
		case "message_start":
			out.usage = e.Message.Usage
		case "content_block_delta":
			out.said = 1
		case "message_delta":
			out.usage = e.Usage // of the whole answer so far
		case "message_stop", "error":
			out.ended = true
		}
		return out
	},
}

// anthropicError is an error as Anthropic's API has it: its types follow the status.
func anthropicError(e *apiError) any {
	kind := "api_error"
	switch e.status {
	case http.StatusBadRequest:
		kind = "invalid_request_error"
	case http.StatusUnauthorized:
		kind = "authentication_error"
	case http.StatusNotFound:
		kind = "not_found_error"
	case http.StatusRequestEntityTooLarge:
		kind = "request_too_large"
	case http.StatusTooManyRequests:
		kind = "rate_limit_error"
	case http.StatusServiceUnavailable:
		kind = "overloaded_error"
	}
	return map[string]any{"type": "error", "error": map[string]any{"type": kind, "message": e.Message}}
}

// there reports whether a field has a value.
func there(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

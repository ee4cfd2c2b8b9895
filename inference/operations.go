package inference

import "strings"

const (
	// Prefix is where OpenAI's API is.
	Prefix = "/openai/v1"
	// AnthropicPrefix is where Anthropic's API is: the address that its clients take is that before "/v1".
	AnthropicPrefix = "/anthropic/v1"
)

// Serves reports whether a path is one of this package's APIs.
func Serves(path string) bool {
	return strings.HasPrefix(path, Prefix+"/") || strings.HasPrefix(path, AnthropicPrefix+"/")
}

// operation is one that is forwarded to a model server.
type operation struct {
	dialect *dialect
	// streams: its answer may come as a stream.
	streams bool
	// conversation is the field that a replica may have seen the beginning of; "" for none.
	conversation string
	// form: the request is a form with a file, and no JSON document.
	form bool
	// free: the answer uses no tokens, and says only how many there are.
	free bool
	// refused are fields that ask for what a deployment does not have, with the reason.
	refused map[string]string
}

// operations are those that are forwarded, by their path.
var operations = map[string]operation{
	Prefix + "/chat/completions":               {dialect: &chat, streams: true, conversation: "messages"},
	Prefix + "/completions":                    {dialect: &chat, streams: true, conversation: "prompt"},
	Prefix + "/embeddings":                     {dialect: &chat},
	Prefix + "/images/generations":             {dialect: &chat},
	Prefix + "/audio/transcriptions":           {dialect: &chat, form: true},
	Prefix + "/audio/translations":             {dialect: &chat, form: true},
	Prefix + "/responses":                      {dialect: &responses, streams: true, conversation: "input", refused: keepsNothing},
	AnthropicPrefix + "/messages":              {dialect: &messages, streams: true, conversation: "messages"},
	AnthropicPrefix + "/messages/count_tokens": {dialect: &messages, conversation: "messages", free: true},
}

// keepsNothing are the fields of a response that need an earlier one.
var keepsNothing = map[string]string{
	"previous_response_id": "a deployment keeps no responses, since its replicas come and go; send the whole conversation in input",
	"conversation":         "a deployment keeps no conversations, since its replicas come and go; send the whole conversation in input",
	"background":           "a deployment answers no requests in the background; ask for a stream",
}

// endpoint is an operation's path behind that of the API, which the model server has as well.
func endpoint(path string) string {
	for _, prefix := range []string{Prefix, AnthropicPrefix} {
		if rest, ok := strings.CutPrefix(path, prefix); ok {
			return rest
		}
	}
	return path
}

package inference

import "encoding/json"

// tokens are what a request has used.
type tokens struct {
	Prompt, Completion uint64
	counted            bool
}

// bytesPerToken is what a token of a text is taken for where the model server reports none.
const bytesPerToken = 4

// UnmarshalJSON reads a report of any of the APIs. What Anthropic's servers had in their cache is a part of the prompt, reported apart.
func (t *tokens) UnmarshalJSON(raw []byte) error {
	var u struct {
		Prompt     uint64 `json:"prompt_tokens"`
		Completion uint64 `json:"completion_tokens"`
		Input      uint64 `json:"input_tokens"`
		Output     uint64 `json:"output_tokens"`
		Cached     uint64 `json:"cache_read_input_tokens"`
		Caching    uint64 `json:"cache_creation_input_tokens"`
	}
	if err := json.Unmarshal(raw, &u); err != nil {
		return err
	}
	*t = tokens{Prompt: u.Prompt + u.Input + u.Cached + u.Caching, Completion: u.Completion + u.Output}
	return nil
}

// over is a report behind an earlier one of the same answer: each counts from the beginning, and a later one may leave out the prompt.
func (t *tokens) over(earlier *tokens) *tokens {
	if earlier == nil {
		return t
	}
	return &tokens{Prompt: max(t.Prompt, earlier.Prompt), Completion: max(t.Completion, earlier.Completion)}
}

// answer is what matters of an answer that is not a stream, of any of the APIs.
type answer struct {
	Usage   *tokens  `json:"usage"`
	Choices []choice `json:"choices"`
	Text    string   `json:"text"`    // of a recording
	Content []part   `json:"content"` // of a message
	Output  []struct {
		Content []part `json:"content"`
	} `json:"output"` // of a response
}

type part struct {
	Text string `json:"text"`
}

// length is how much text an answer is, bytes.
func (a *answer) length() int {
	n := len(a.Text)
	for _, c := range a.Choices {
		n += len(c.Text) + len(c.Message.Content)
	}
	for _, p := range a.Content {
		n += len(p.Text)
	}
	for _, o := range a.Output {
		for _, p := range o.Content {
			n += len(p.Text)
		}
	}
	return n
}

func about(n int) uint64 { return uint64(n+bytesPerToken-1) / bytesPerToken }

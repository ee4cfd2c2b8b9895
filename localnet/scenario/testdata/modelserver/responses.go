package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// input is what a response or a message is made of: a text, or a list whose last entry has one.
type input struct {
	Model    string          `json:"model"`
	Input    json.RawMessage `json:"input"`
	Messages json.RawMessage `json:"messages"`
	Stream   bool            `json:"stream"`
}

// words are those of the last text.
func (in *input) words() []string {
	raw := in.Input
	if raw == nil {
		raw = in.Messages
	}
	text := ""
	for raw != nil && json.Unmarshal(raw, &text) != nil {
		var list []struct {
			Content json.RawMessage `json:"content"`
			Text    string          `json:"text"`
		}
		if json.Unmarshal(raw, &list) != nil || len(list) == 0 {
			break
		}
		last := list[len(list)-1]
		raw, text = last.Content, last.Text
	}
	if words := strings.Fields(text); len(words) > 0 {
		return words
	}
	return []string{"nothing"}
}

// events writes a stream of named events.
func events(w http.ResponseWriter) func(v map[string]any) {
	w.Header().Set("Content-Type", "text/event-stream")
	number := 0
	return func(v map[string]any) {
		v["sequence_number"] = number
		number++
		raw, err := json.Marshal(v)
		if err == nil {
			fmt.Fprintf(w, "event: %s\ndata: %s\n\n", v["type"], raw)
			_ = http.NewResponseController(w).Flush()
		}
	}
}

// response answers as OpenAI's responses do.
func response(w http.ResponseWriter, in *input, pause time.Duration) {
	words := in.words()
	text := strings.Join(words, " ") + " "
	part := map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
	item := map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": []any{part}}
	made := func(status string, output ...any) map[string]any {
		return map[string]any{
			"id": "resp_1", "object": "response", "created_at": 1, "model": in.Model, "status": status, "output": output, "parallel_tool_calls": false, "tool_choice": "auto", "tools": []any{},
		}
	}
	whole := made("completed", item)
	whole["usage"] = map[string]any{
		"input_tokens": len(words), "output_tokens": len(words), "total_tokens": 2 * len(words),
		"input_tokens_details": map[string]any{"cached_tokens": 0}, "output_tokens_details": map[string]any{"reasoning_tokens": 0},
	}
	if !in.Stream {
		reply(w, whole)
		return
	}
	send := events(w)
	send(map[string]any{"type": "response.created", "response": made("in_progress")})
	send(map[string]any{"type": "response.output_item.added", "output_index": 0, "item": map[string]any{"type": "message", "id": "msg_1", "role": "assistant", "status": "in_progress", "content": []any{}}})
	send(map[string]any{"type": "response.content_part.added", "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": map[string]any{"type": "output_text", "text": "", "annotations": []any{}}})
	for _, word := range words {
		time.Sleep(pause)
		send(map[string]any{"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": word + " ", "logprobs": []any{}})
	}
	send(map[string]any{"type": "response.output_text.done", "item_id": "msg_1", "output_index": 0, "content_index": 0, "text": text, "logprobs": []any{}})
	send(map[string]any{"type": "response.content_part.done", "item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part})
	send(map[string]any{"type": "response.output_item.done", "output_index": 0, "item": item})
	send(map[string]any{"type": "response.completed", "response": whole})
}

// anthropicMessage answers as Anthropic's messages do.
func anthropicMessage(w http.ResponseWriter, in *input, pause time.Duration) {
	words := in.words()
	made := map[string]any{
		"id": "msg_1", "type": "message", "role": "assistant", "model": in.Model, "stop_reason": "end_turn", "stop_sequence": nil,
		"content": []any{map[string]any{"type": "text", "text": strings.Join(words, " ")}}, "usage": map[string]any{"input_tokens": len(words), "output_tokens": len(words)},
	}
	if !in.Stream {
		reply(w, made)
		return
	}
	send := events(w)
	made["content"], made["stop_reason"], made["usage"] = []any{}, nil, map[string]any{"input_tokens": len(words), "output_tokens": 1}
	send(map[string]any{"type": "message_start", "message": made})
	send(map[string]any{"type": "content_block_start", "index": 0, "content_block": map[string]any{"type": "text", "text": ""}})
	for _, word := range words {
		time.Sleep(pause)
		send(map[string]any{"type": "content_block_delta", "index": 0, "delta": map[string]any{"type": "text_delta", "text": word + " "}})
	}
	send(map[string]any{"type": "content_block_stop", "index": 0})
	send(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": "end_turn", "stop_sequence": nil}, "usage": map[string]any{"output_tokens": len(words)}})
	send(map[string]any{"type": "message_stop"})
}

// newer adds the operations that came after chat completions.
func newer(mux *http.ServeMux, model string, pause time.Duration) {
	for path, answer := range map[string]func(http.ResponseWriter, *input, time.Duration){
		"/v1/responses": response, "/v1/messages": anthropicMessage,
		"/v1/messages/count_tokens": func(w http.ResponseWriter, in *input, _ time.Duration) {
			reply(w, map[string]any{"input_tokens": len(in.words())})
		},
		"/v1/images/generations": func(w http.ResponseWriter, _ *input, _ time.Duration) {
			reply(w, map[string]any{"created": 1, "data": []any{map[string]any{"b64_json": base64.StdEncoding.EncodeToString([]byte("a picture"))}}})
		},
	} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var in input
			if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Model != model {
				wrongModel(w, model, in.Model, err)
				return
			}
			answer(w, &in, pause)
		})
	}
	mux.HandleFunc("POST /v1/audio/transcriptions", func(w http.ResponseWriter, r *http.Request) {
		file, _, err := r.FormFile("file")
		if err != nil || r.FormValue("model") != model {
			wrongModel(w, model, r.FormValue("model"), err)
			return
		}
		raw, err := io.ReadAll(file)
		if err != nil {
			wrongModel(w, model, model, err)
			return
		}
		reply(w, map[string]any{"text": fmt.Sprintf("a recording of %d bytes", len(raw))})
	})
}

func wrongModel(w http.ResponseWriter, want, got string, err error) {
	w.WriteHeader(http.StatusBadRequest)
	reply(w, map[string]any{"error": map[string]any{"message": fmt.Sprintf("want the model %s, got %q (%v)", want, got, err)}})
}

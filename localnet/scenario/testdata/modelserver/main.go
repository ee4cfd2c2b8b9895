// The program modelserver has OpenAI's and Anthropic's API, and the flags of llama.cpp's server that gantry's template gives it. It has no
// model: it answers with the words of the last message, one by one. Scenarios run it in containers where the real one would
// need a GPU.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"time"
)

type message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

type chat struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Prompt   string    `json:"prompt"`
	Input    string    `json:"input"`
	Stream   bool      `json:"stream"`
}

func (c *chat) words() []string {
	text := c.Prompt
	if n := len(c.Messages); n > 0 {
		text = c.Messages[n-1].Content
	}
	if words := strings.Fields(text); len(words) > 0 {
		return words
	}
	return []string{"nothing"}
}

func main() {
	model := flag.String("hf", "", "model")
	host := flag.String("host", "127.0.0.1", "address")
	port := flag.String("port", "8080", "port")
	flag.Int("ctx-size", 0, "tokens")
	flag.Int("parallel", 1, "requests at once")
	flag.Int("n-gpu-layers", 0, "layers")
	pause := flag.Duration("pause", 20*time.Millisecond, "between words")
	flag.Parse()
	if *model == "" || flag.NArg() > 0 {
		log.Fatal("-hf MODEL is missing, or there is an argument too many")
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, `{"status":"ok"}`) })
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{"object": "list", "data": []any{map[string]any{"id": *model, "object": "model"}}})
	})
	for path, field := range map[string]string{"/v1/chat/completions": "delta", "/v1/completions": "text"} {
		mux.HandleFunc("POST "+path, func(w http.ResponseWriter, r *http.Request) {
			var c chat
			if err := json.NewDecoder(r.Body).Decode(&c); err != nil || c.Model != *model {
				wrongModel(w, *model, c.Model, err)
				return
			}
			answer(w, &c, field, *pause)
		})
	}
	mux.HandleFunc("POST /v1/embeddings", func(w http.ResponseWriter, _ *http.Request) {
		reply(w, map[string]any{
			"object": "list", "data": []any{map[string]any{"object": "embedding", "index": 0, "embedding": []float64{0.5, 0.25}}},
			"usage": map[string]any{"prompt_tokens": 2, "total_tokens": 2},
		})
	})
	newer(mux, *model, *pause)
	log.Print("serving on ", net.JoinHostPort(*host, *port), " as ", os.Getpid())
	log.Fatal((&http.Server{Addr: net.JoinHostPort(*host, *port), Handler: mux, ReadHeaderTimeout: time.Minute}).ListenAndServe())
}

// answer says the words, as a stream where it is asked for. It reports no usage of streams.
func answer(w http.ResponseWriter, c *chat, field string, pause time.Duration) {
	words := c.words()
	if !c.Stream {
		text := strings.Join(words, " ")
		reply(w, map[string]any{
			"id": "1", "object": "chat.completion", "created": 1, "model": c.Model,
			"choices": []any{map[string]any{"index": 0, "text": text, "message": message{"assistant", text}, "finish_reason": "stop"}},
			"usage":   map[string]any{"prompt_tokens": len(words), "completion_tokens": len(words), "total_tokens": 2 * len(words)},
		})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	send := func(choice map[string]any) {
		raw, err := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 1, "model": c.Model, "choices": []any{choice}})
		if err == nil {
			fmt.Fprintf(w, "data: %s\n\n", raw)
			_ = http.NewResponseController(w).Flush()
		}
	}
	for _, word := range words {
		time.Sleep(pause)
		var said any = word + " "
		if field == "delta" {
			said = map[string]any{"role": "assistant", "content": word + " "}
		}
		send(map[string]any{"index": 0, field: said, "finish_reason": nil})
	}
	var nothing any = ""
	if field == "delta" {
		nothing = map[string]any{}
	}
	send(map[string]any{"index": 0, field: nothing, "finish_reason": "stop"})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v)
}

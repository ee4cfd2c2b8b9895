package inference

import (
	"bytes"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/require"
)

// Streams of the newer APIs pass as they are, and are counted.
func TestStreamsOfOtherDialects(t *testing.T) {
	response := `event: response.created
data: {"type":"response.created","response":{"status":"in_progress"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","delta":"a"}

event: response.completed
data: {"type":"response.completed","response":{"usage":{"input_tokens":11,"output_tokens":2}}}

`
	message := `event: message_start
data: {"type":"message_start","message":{"usage":{"input_tokens":5,"cache_read_input_tokens":20,"output_tokens":1}}}

event: ping
data: {"type":"ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"a"}}

event: message_delta
data: {"type":"message_delta","usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	for what, c := range map[string]struct {
		speaks *dialect
		text   string
		used   tokens
		broken string // what a stream that breaks ends with
	}{
		"a response": {&responses, response, tokens{11, 2, false}, "event: error\ndata: {\"code\":\"replica_lost\""},
		"a message":  {&messages, message, tokens{25, 7, false}, "event: error\ndata: {\"error\":{\"message\":\"the replica"},
	} {
		out, used, whole, primed := streamOf(t, c.speaks, strings.NewReader(c.text), false)
		require.NoError(t, primed, what)
		require.Equal(t, c.text, out, what)
		require.Equal(t, c.used, used, what)
		require.True(t, whole, what)

		cut := strings.Index(c.text, "delta\"") + strings.Index(c.text[strings.Index(c.text, "delta\""):], "\n\n") + 2
		out, _, whole, primed = streamOf(t, c.speaks, io.MultiReader(strings.NewReader(c.text[:cut]), iotest.ErrReader(errors.New("reset"))), false)
		require.NoError(t, primed, what)
		require.False(t, whole, what)
		require.Contains(t, out[cut:], c.broken, what)

		_, _, _, primed = streamOf(t, c.speaks, strings.NewReader(c.text[:strings.Index(c.text, "\n\n")+2]), false)
		require.Error(t, primed, "%s: its first event is not a token", what)
	}
}

// A request of each API is forwarded with the model's real name; what needs an earlier response is refused.
func TestRequestsOfOtherDialects(t *testing.T) {
	upstream := func(model string) (string, error) { return "up/" + model, nil }
	ask := func(path, body string) (*request, error) {
		return parseRequest(path, "application/json", []byte(body), upstream)
	}
	r, err := ask(Prefix+"/responses", `{"model":"m","input":"hello","stream":true,"store":false,"previous_response_id":null}`)
	require.NoError(t, err)
	require.JSONEq(t, `{"model":"up/m","input":"hello","stream":true,"store":false,"previous_response_id":null}`, string(r.body), "no stream options")
	require.Equal(t, "/responses", r.endpoint)
	again, err := ask(Prefix+"/responses", `{"model":"m","instructions":"be brief","input":[{"role":"user","content":"a"},{"content":"b"}]}`)
	require.NoError(t, err)
	longer, err := ask(Prefix+"/responses", `{"model":"m","instructions":"be brief","input":[{"role":"user","content":"a"},{"content":"b"},{"content":"c"}]}`)
	require.NoError(t, err)
	require.NotZero(t, r.affinity)
	require.Equal(t, again.affinity, longer.affinity, "a conversation that grows")
	require.NotEqual(t, r.affinity, again.affinity)
	for field, value := range map[string]string{"previous_response_id": `"resp_1"`, "background": "true", "conversation": `{"id":"c"}`} {
		_, err := ask(Prefix+"/responses", `{"model":"m","input":"x","`+field+`":`+value+`}`)
		var e *apiError
		require.ErrorAs(t, err, &e, field)
		require.Equal(t, field, e.Param)
	}
	r, err = ask(AnthropicPrefix+"/messages", `{"model":"m","system":"be brief","messages":[{"role":"user","content":"a"}],"stream":true}`)
	require.NoError(t, err)
	require.NotContains(t, string(r.body), "stream_options")
	require.NotZero(t, r.affinity)
	_, err = ask(AnthropicPrefix+"/messages/count_tokens", `{"model":"m","messages":[],"stream":true}`)
	require.ErrorContains(t, err, "cannot be streamed")
	require.Zero(t, plainTokens([]byte(`{"input_tokens":9}`), http.StatusOK, &request{operation: operations[AnthropicPrefix+"/messages/count_tokens"]}))
	require.Equal(t, tokens{0, 1, true}, plainTokens([]byte(`{"text":"abc"}`), http.StatusOK, &request{operation: operations[Prefix+"/audio/transcriptions"]}))
}

// A form is forwarded as it is, with the model's real name.
func TestForms(t *testing.T) {
	form := func(fields ...string) (string, []byte) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for i := 0; i < len(fields); i += 2 {
			require.NoError(t, w.WriteField(fields[i], fields[i+1]))
		}
		file, err := w.CreateFormFile("file", "a \"b\".wav")
		require.NoError(t, err)
		_, err = file.Write([]byte("RIFF\r\n--x"))
		require.NoError(t, err)
		require.NoError(t, w.Close())
		return w.FormDataContentType(), b.Bytes()
	}
	upstream := func(model string) (string, error) { return "up/" + model, nil }
	kind, raw := form("model", "m", "language", "de", "timestamp_granularities[]", "word", "timestamp_granularities[]", "segment")
	r, err := parseRequest(Prefix+"/audio/transcriptions", kind, raw, upstream)
	require.NoError(t, err)
	got, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://x/", bytes.NewReader(r.body))
	require.NoError(t, err)
	got.Header.Set("Content-Type", r.contentType)
	require.NoError(t, got.ParseMultipartForm(1<<20))
	require.Equal(t, map[string][]string{"model": {"up/m"}, "language": {"de"}, "timestamp_granularities[]": {"word", "segment"}}, map[string][]string(got.MultipartForm.Value))
	file, header, err := got.FormFile("file")
	require.NoError(t, err)
	sent, err := io.ReadAll(file)
	require.NoError(t, err)
	require.Equal(t, "RIFF\r\n--x", string(sent))
	require.Equal(t, "a \"b\".wav", header.Filename)

	refused := func(kind string, raw []byte) {
		_, err := parseRequest(Prefix+"/audio/transcriptions", kind, raw, upstream)
		var e *apiError
		require.ErrorAs(t, err, &e)
		require.Equal(t, http.StatusBadRequest, e.status)
	}
	refused("application/json", []byte(`{"model":"m"}`))
	refused(kind, raw[:len(raw)-20])
	refused(form())
	refused(form("model", "m", "model", "n"))
	refused(form("model", "m", "stream", "true"))
	many := []string{"model", "m"}
	for range maxParts {
		many = append(many, "x", "y")
	}
	refused(form(many...))
}

func FuzzForm(f *testing.F) {
	f.Add("multipart/form-data; boundary=x", []byte("--x\r\nContent-Disposition: form-data; name=\"model\"\r\n\r\nm\r\n--x--\r\n"))
	f.Fuzz(func(t *testing.T, kind string, raw []byte) {
		r, err := parseRequest(Prefix+"/audio/transcriptions", kind, raw, func(string) (string, error) { return "up", nil })
		if err == nil {
			require.NotEmpty(t, r.contentType)
		}
	})
}

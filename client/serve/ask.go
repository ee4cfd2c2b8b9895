package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/internal/printable"
)

const (
	// serverWithin is how long a server may take to answer.
	serverWithin = 40 * time.Second
	// maxServerAnswer is how large its answer may be, bytes.
	maxServerAnswer = 16 << 20
)

// Ask asks a running server with a token, as an owner's program, and decodes its answer. Error: a service.Failure, with the server's reason
// where it refuses.
func Ask(ctx context.Context, server, token, method, path string, body, into any) error {
	if token == "" {
		return service.Usage("the token of the server is missing", "put it into the variable GANTRY_TOKEN; gantry serve printed it, or wrote it to --token-file")
	}
	var sent io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		sent = bytes.NewReader(raw)
	}
	at := strings.TrimSuffix(server, "/")
	r, err := http.NewRequestWithContext(ctx, method, at+path, sent)
	if err != nil {
		return service.Usage(fmt.Sprintf("--server %q is not a URL", at), "such as http://127.0.0.1:8484")
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	client := http.Client{Timeout: serverWithin}
	res, err := client.Do(r)
	if err != nil {
		return service.Network(fmt.Sprintf("the server %s does not answer", at), "start it with gantry serve, or name another with --server", err)
	}
	defer res.Body.Close()
	raw, err := io.ReadAll(io.LimitReader(res.Body, maxServerAnswer))
	if err != nil {
		return service.Network(fmt.Sprintf("the answer of the server %s broke off", at), "try again", err)
	}
	if res.StatusCode >= http.StatusBadRequest {
		var p Problem
		if json.Unmarshal(raw, &p) != nil || p.Detail == "" {
			return service.Refused(fmt.Sprintf("the server %s answers with the status %d", at, res.StatusCode), "is it gantry serve?")
		}
		reason := p.Detail
		for _, e := range p.Errors {
			reason += fmt.Sprintf("; %s %s", e.Location, e.Message)
		}
		return service.Refused(printable.Text(reason), printable.Text(p.NextStep))
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return service.Refused(fmt.Sprintf("the answer of the server %s cannot be read", at), "it may be of another version of gantry")
	}
	return nil
}

package serve

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gagliardetto/solana-go"
	"github.com/rs/zerolog"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/catalogue"
	"github.com/gantry-market/gantry/client/service"
	"github.com/gantry-market/gantry/client/template"
	"github.com/gantry-market/gantry/inference"
	"github.com/gantry-market/gantry/sdk/chain"
)

// noCompute sells nothing.
type noCompute struct{}

func (noCompute) Buy(context.Context, string, json.RawMessage) (string, error) {
	return "", errors.New("no node fits")
}

func (noCompute) Extend(context.Context, string, string, time.Duration) (inference.Lease, error) {
	return inference.Lease{}, inference.ErrOver
}
func (noCompute) Abandon(context.Context, string) error { return nil }
func (noCompute) Stop(context.Context, string) error    { return nil }
func (noCompute) Lease(context.Context, string) (inference.Lease, error) {
	return inference.Lease{}, inference.ErrOver
}

func (noCompute) Connect(context.Context, string) (inference.Connection, error) {
	return nil, inference.ErrOver
}

// recorder is a buyer that keeps what it was asked for.
type recorder struct{ asked []OrderRequest }

func (r *recorder) Buy(_ context.Context, _ string, o OrderRequest) (Bought, error) {
	r.asked = append(r.asked, o)
	return Bought{Order: "order", Leases: []service.Lease{}}, nil
}

func (r *recorder) SoFar(_ context.Context, _ string) (Bought, error) {
	return Bought{}, nil
}

func (r *recorder) Stop(context.Context, solana.PublicKey) (service.Lease, error) {
	return service.Lease{}, errors.New("not asked")
}

// unconnected is a service whose cluster is away.
func unconnected(t *testing.T) *service.Service {
	t.Helper()
	client, err := chain.New(chain.Options{Endpoints: []chain.Endpoint{{RPC: "http://127.0.0.1:1"}}})
	require.NoError(t, err)
	t.Cleanup(client.Close)
	return service.New(client, zerolog.Nop())
}

// served is a server with templates and deployments, and without a market behind it.
func served(t *testing.T, b Buyer) (s *Server, models *inference.Service, header map[string]string) {
	t.Helper()
	store := testStore(t)
	token, err := store.NewToken()
	require.NoError(t, err)
	file, err := inference.OpenStore(filepath.Join(t.TempDir(), "inference.db"), solana.PublicKey{1})
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	models, err = inference.New(inference.Options{Store: file, Compute: noCompute{}, Admits: store.Admits, Log: zerolog.Nop()})
	require.NoError(t, err)
	all, err := template.Builtin()
	require.NoError(t, err)
	open, err := catalogue.Builtin()
	require.NoError(t, err)
	s = New(Options{Service: unconnected(t), Store: store, Buyer: b, Inference: models, Templates: all, Catalogue: open, Log: zerolog.Nop()})
	t.Cleanup(s.orders.begin(t.Context()))
	return s, models, map[string]string{"Authorization": "Bearer " + token, "Content-Type": "application/json"}
}

func TestOrdersByTemplate(t *testing.T) {
	b := &recorder{}
	s, _, header := served(t, b)
	w, _ := ask(t, s, http.MethodGet, "/v1/templates", "", header)
	var all struct{ Templates []template.Template }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	require.Len(t, all.Templates, 8)
	w, _ = ask(t, s, http.MethodGet, "/v1/templates/vllm", "", header)
	require.Equal(t, http.StatusOK, w.Code)
	_, p := ask(t, s, http.MethodGet, "/v1/templates/vlm", "", header)
	require.Equal(t, http.StatusNotFound, p.Status)

	header["Idempotency-Key"] = "k"
	w, _ = ask(t, s, http.MethodPost, "/v1/templates/vllm/orders", `{"set": {"model": "a/b", "maxModelLen": "100"}, "allowSimulated": true}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Equal(t, OrderRequest{
		GPU: "A100", Count: 1, MaxPrice: "2.00", Seconds: 1800, Image: "docker.io/vllm/vllm-openai:latest", Network: "internet", MinMemory: 24, AllowSimulated: true,
		Command: []string{"--model", "a/b", "--gpu-memory-utilization", "0.9", "--tensor-parallel-size", "1", "--max-model-len", "100"},
		Ports:   []template.Port{{Name: "api", Port: 8000}}, Health: &template.Probe{Port: 8000, Path: "/health", Deadline: template.Duration(20 * time.Minute)},
	}, b.asked[0])
	header["Idempotency-Key"] = "l"
	w, _ = ask(t, s, http.MethodPost, "/v1/templates/ssh/orders", `{"gpu": "H100", "seconds": 60, "volume": "x:1GiB", "network": "none", "image": "debian@sha256:0"}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.Equal(t, OrderRequest{GPU: "H100", Count: 1, Seconds: 60, Image: "debian@sha256:0", Network: "none", Volume: "x:1GiB", Command: []string{"sleep", "infinity"}}, b.asked[1])
	for body, detail := range map[string]string{
		`{"set": {"modl": "x"}}`:           `"modl" is not one of the template vllm`,
		`{"set": {"maxModelLen": "many"}}`: `is not of type integer`,
		`{"colour": "red"}`:                "validation",
		`{"set": {"model": "a/b; rm"}}`:    "does not match",
	} {
		_, p := ask(t, s, http.MethodPost, "/v1/templates/vllm/orders", body, header)
		require.Equal(t, http.StatusUnprocessableEntity, p.Status, body)
		require.Contains(t, p.Detail, detail)
	}
	require.Len(t, b.asked, 2)
}

func TestDeploymentsOverHTTP(t *testing.T) {
	s, models, header := served(t, &recorder{})
	body := `{"template": "vllm", "set": {"model": "a/b", "hfToken": "hf_hunter2"}, "minReplicas": 0, "maxReplicas": 2, "leaseSeconds": 3600}`
	w, _ := ask(t, s, http.MethodPut, "/v1/deployments/small", body, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	require.NotContains(t, w.Body.String(), "hunter2")
	w, _ = ask(t, s, http.MethodPut, "/v1/deployments/small", body, header)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	_, p := ask(t, s, http.MethodPut, "/v1/deployments/small", strings.Replace(body, "hunter2", "other", 1), header)
	require.Equal(t, http.StatusConflict, p.Status)
	_, p = ask(t, s, http.MethodPut, "/v1/deployments/other", `{"template": "jupyter", "set": {"token": "0123456789abcdef"}, "minReplicas": 0, "maxReplicas": 1}`, header)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status)
	require.Contains(t, p.Detail, "none of a model server")
	_, p = ask(t, s, http.MethodPut, "/v1/deployments/other", `{"template": "vllm", "volume": "000", "minReplicas": 0, "maxReplicas": 1}`, header)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status, "no replica could ever be bought: %+v", p)
	require.Contains(t, p.Detail, "volume")
	_, p = ask(t, s, http.MethodPut, "/v1/deployments/other", `{"template": "vllm", "minReplicas": 3, "maxReplicas": 2}`, header)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status)
	_, spec, err := models.Deployment("small")
	require.NoError(t, err)
	var order OrderRequest
	require.NoError(t, json.Unmarshal(spec.Order, &order))
	require.Equal(t, map[string]string{"HF_TOKEN": "hf_hunter2"}, order.Env)
	require.EqualValues(t, 3600, order.Seconds)
	require.Equal(t, []any{"a/b", 64, "/v1"}, []any{spec.Model, spec.Concurrency, spec.Path})
	for _, path := range []string{"/v1/deployments", "/v1/deployments/small", "/v1/deployments/small/usage"} {
		w, _ = ask(t, s, http.MethodGet, path, "", header)
		require.Equal(t, http.StatusOK, w.Code, path)
		require.NotContains(t, w.Body.String(), "hunter2", path)
	}

	w, _ = ask(t, s, http.MethodPost, "/v1/inference/tokens", `{"name": "app", "deployments": ["small"]}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	var made struct{ ID, Token string }
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &made))
	w, _ = ask(t, s, http.MethodGet, "/v1/inference/tokens", "", header)
	require.NotContains(t, w.Body.String(), made.Token)

	// The token opens the models, and nothing else; a page of another site opens nothing.
	app := map[string]string{"Authorization": "Bearer " + made.Token}
	raw := func(path string, h map[string]string) (int, string) {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Host = "127.0.0.1:8484"
		for k, v := range h {
			r.Header.Set(k, v)
		}
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		return w.Code, w.Body.String()
	}
	status, text := raw("/openai/v1/models", app)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, `"id":"small"`)
	status, _ = raw("/openai/v1/models", map[string]string{"Authorization": header["Authorization"]})
	require.Equal(t, http.StatusOK, status)
	status, text = raw("/openai/v1/models", nil)
	require.Equal(t, http.StatusUnauthorized, status)
	require.Contains(t, text, "invalid_api_key")
	_, p = ask(t, s, http.MethodGet, "/v1/leases", "", app)
	require.Equal(t, http.StatusUnauthorized, p.Status)
	app["Origin"] = "https://evil.example"
	status, _ = raw("/openai/v1/models", app)
	require.Equal(t, http.StatusForbidden, status)

	w, _ = ask(t, s, http.MethodDelete, "/v1/inference/tokens/"+made.ID, "", header)
	require.Equal(t, http.StatusNoContent, w.Code)
	status, _ = raw("/openai/v1/models", map[string]string{"Authorization": "Bearer " + made.Token})
	require.Equal(t, http.StatusUnauthorized, status)
	w, _ = ask(t, s, http.MethodDelete, "/v1/deployments/small", "", header)
	require.Equal(t, http.StatusAccepted, w.Code)
	_, p = ask(t, s, http.MethodDelete, "/v1/deployments/none", "", header)
	require.Equal(t, http.StatusNotFound, p.Status)
}

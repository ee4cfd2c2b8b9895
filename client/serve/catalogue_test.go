package serve

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/service"
)

// A model is listed, shown with its template, and ordered on GPUs that have the memory that it needs.
func TestOrdersByModel(t *testing.T) {
	b := &recorder{}
	s, _, header := served(t, b)
	var all Catalogue
	w, _ := ask(t, s, http.MethodGet, "/v1/catalogue", "", header)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &all))
	require.GreaterOrEqual(t, len(all.Models), 25)
	var speech Catalogue
	w, _ = ask(t, s, http.MethodGet, "/v1/catalogue?does=speech", "", header)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &speech))
	require.NotEmpty(t, speech.Models)
	require.Less(t, len(speech.Models), len(all.Models))
	_, p := ask(t, s, http.MethodGet, "/v1/catalogue?does=poetry", "", header)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status)

	var one CatalogueModel
	w, _ = ask(t, s, http.MethodGet, "/v1/catalogue/qwen3-8b:Q4_K_M", "", header)
	require.Equal(t, http.StatusOK, w.Code, w.Body)
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &one))
	require.Equal(t, []any{"llama-cpp", "Qwen/Qwen3-8B-GGUF:Q4_K_M", service.AnyModel}, []any{one.Template.Name, one.Template.Parameters["model"].Default, one.Template.Try.GPU})
	require.Equal(t, "gantry deploy --model qwen3-8b:Q4_K_M --hours 1", one.Commands[0].Line)
	_, p = ask(t, s, http.MethodGet, "/v1/catalogue/qwen3-9b", "", header)
	require.Equal(t, http.StatusNotFound, p.Status)
	require.Contains(t, p.Detail, "near it are")

	header["Idempotency-Key"] = "k"
	w, _ = ask(t, s, http.MethodPost, "/v1/catalogue/qwen3-8b/orders", `{"seconds": 600}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	r := b.asked[0]
	require.Equal(t, []any{service.AnyModel, uint8(1), uint(23), "", uint32(600)}, []any{r.GPU, r.Count, r.MinMemory, r.MaxPrice, r.Seconds})
	require.Contains(t, r.Command, "Qwen/Qwen3-8B")
	header["Idempotency-Key"] = "l"
	w, _ = ask(t, s, http.MethodPost, "/v1/catalogue/qwen3-8b/orders", `{"gpu": "A100", "count": 2, "set": {"maxModelLen": "32768"}}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	r = b.asked[1]
	require.Equal(t, []any{"A100", uint8(2)}, []any{r.GPU, r.Count})
	require.Subset(t, r.Command, []string{"--tensor-parallel-size", "2", "--max-model-len", "32768"})
	for body, detail := range map[string]string{
		`{"set": {"model": "a/b"}}`:     "the model is qwen3-8b already",
		`{"count": 3}`:                  "1, 2, 4 or 8 GPUs",
		`{"gpu": "A100:2", "count": 4}`: "two numbers of GPUs",
		`{"set": {"colour": "red"}}`:    "is not one of the template vllm",
		`{"guest": true}`:               "a measured guest has none",
	} {
		_, p := ask(t, s, http.MethodPost, "/v1/catalogue/qwen3-8b/orders", body, header)
		require.Equal(t, http.StatusUnprocessableEntity, p.Status, body)
		require.Contains(t, p.Detail, detail)
	}
	_, p = ask(t, s, http.MethodPost, "/v1/catalogue/llama-3.1-8b/orders", `{}`, header)
	require.Equal(t, http.StatusUnprocessableEntity, p.Status)
	require.Contains(t, p.Detail, "hfToken", "gated weights are asked a token for before money moves")
	require.Len(t, b.asked, 2)
}

func TestDeploymentsOfModels(t *testing.T) {
	s, models, header := served(t, &recorder{})
	w, _ := ask(t, s, http.MethodPut, "/v1/deployments/words", `{"model": "Qwen/Qwen3-8B", "minReplicas": 0, "maxReplicas": 1}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	_, spec, err := models.Deployment("words")
	require.NoError(t, err)
	var order OrderRequest
	require.NoError(t, json.Unmarshal(spec.Order, &order))
	require.Equal(t, []any{service.AnyModel, uint(23), "Qwen/Qwen3-8B"}, []any{order.GPU, order.MinMemory, spec.Model})
	for body, detail := range map[string]string{
		`{"minReplicas": 0, "maxReplicas": 1}`:                                          "a template or a model",
		`{"template": "vllm", "model": "qwen3-8b", "minReplicas": 0, "maxReplicas": 1}`: "not both",
		`{"model": "sdxl", "minReplicas": 0, "maxReplicas": 1}`:                         "none of a model server",
	} {
		_, p := ask(t, s, http.MethodPut, "/v1/deployments/other", body, header)
		require.Equal(t, http.StatusUnprocessableEntity, p.Status, body)
		require.Contains(t, p.Detail, detail)
	}
}

package mcp

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/catalogue"
)

// The tools list models and order them: the order asks for the memory that the model needs.
func TestModels(t *testing.T) {
	s := &shop{sold: map[string]bool{}}
	c, end := open(t, s, filepath.Join(t.TempDir(), "mcp.db"), "2")
	defer end()
	var out Models
	require.Empty(t, call(t, c, "models", map[string]any{"does": "embedding"}, &out))
	require.NotEmpty(t, out.Models)
	for _, m := range out.Models {
		require.Contains(t, m.Does, catalogue.Embedding)
		require.NotZero(t, m.Variants[0].MemoryGiB)
	}
	require.Contains(t, call(t, c, "models", map[string]any{"does": "poetry"}, nil), "not in the catalogue")

	order := func(model, price string) map[string]any {
		return map[string]any{"idempotencyKey": "m", "model": model, "seconds": 100, "maxPricePerGpuHour": price}
	}
	var d Deployed
	require.Empty(t, call(t, c, "deploy_model", order("qwen3-8b", "2.50"), &d))
	require.Equal(t, "bought", d.Purchase.Phase)
	require.Len(t, s.asked, 1)
	require.Equal(t, []any{"any", uint(23), "2.50"}, []any{s.asked[0].GPU, s.asked[0].MinMemory, s.asked[0].MaxPrice})
	require.Contains(t, s.asked[0].Command, "Qwen/Qwen3-8B")
	require.Contains(t, call(t, c, "deploy_model", order("qwen3-9b", "2.50"), nil), "near it are")
	require.Contains(t, call(t, c, "deploy_model", order("llama-3.1-8b", "2.50"), nil), "hfToken")
	require.Contains(t, call(t, c, "deploy_model", order("qwen3-8b", ""), nil), "maxPricePerGpuHour is empty")
	guest := order("qwen3-8b", "2.50")
	guest["guest"] = true
	require.Contains(t, call(t, c, "deploy_model", guest, nil), "guest")
	require.Len(t, s.asked, 1)
}

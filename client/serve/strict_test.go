package serve

import (
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"
	"github.com/stretchr/testify/require"

	"github.com/gantry-market/gantry/client/team"
)

// What the document does not allow is refused before anything is done, with the place that is wrong.
func TestRequestsAreAsTheDocumentSays(t *testing.T) {
	s, teams, token, bought := teamServer(t)
	header := map[string]string{"Authorization": "Bearer " + token("ada", team.Owner, ""), "Idempotency-Key": "k", "Content-Type": "application/json"}
	before, err := teams.Team()
	require.NoError(t, err)
	for _, c := range []struct{ what, method, path, body, location string }{
		{"null for text", http.MethodPut, "/v1/team/members/bob", `{"role": "owner", "wallet": null}`, "body.wallet"},
		{"null for a number", http.MethodPut, "/v1/deployments/x", `{"template": "vllm", "minReplicas": 0, "maxReplicas": 1, "waitSeconds": null}`, "body.waitSeconds"},
		{"null for a list", http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60, "command": null}`, "body.command"},
		{"null in a list", http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60, "command": [null]}`, "body.command[0]"},
		{"null deep inside", http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 60, "ports": [{"port": 80, "name": null}]}`, "body.ports[0].name"},
		{"null for the whole", http.MethodPost, "/v1/orders", `null`, "body"},
		{"another case", http.MethodPut, "/v1/team/members/bob", `{"role": "owner", "Wallet": ""}`, "body.Wallet"},
		{"a truth without a value", http.MethodGet, "/v1/offers?latency=", ``, "query.latency"},
		{"a number without a value", http.MethodGet, "/v1/offers?limit", ``, "query.limit"},
		{"a choice without a value", http.MethodGet, "/v1/offers?sort=", ``, "query.sort"},
		{"an amount that is none", http.MethodPost, "/v1/credits/payments", `{"amount": ""}`, "body.amount"},
		{"an amount with a sign", http.MethodPost, "/v1/credits/payments", `{"amount": "-1"}`, "body.amount"},
	} {
		w, p := ask(t, s, c.method, c.path, c.body, header)
		require.Equal(t, http.StatusUnprocessableEntity, w.Code, "%s: %s", c.what, w.Body)
		require.True(t, slices.ContainsFunc(p.Errors, func(e *huma.ErrorDetail) bool { return e.Location == c.location }), "%s: %s", c.what, w.Body)
	}
	after, err := teams.Team()
	require.NoError(t, err)
	require.Equal(t, before, after)
	require.Empty(t, *bought)

	// JSON Schema takes 6e1 and 1.0 for integers.
	w, _ := ask(t, s, http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": 6e1, "count": 1.0}`, header)
	require.Equal(t, http.StatusCreated, w.Code, w.Body)
	for _, seconds := range []string{"60.5", "1e10", "1e999999999", "4294967296.0"} {
		w, _ = ask(t, s, http.MethodPost, "/v1/orders", `{"gpu": "A100", "seconds": `+seconds+`}`, header)
		require.Contains(t, []int{http.StatusBadRequest, http.StatusUnprocessableEntity}, w.Code, "%s: %s", seconds, w.Body)
	}
	require.Len(t, *bought, 1)

	// A text without a value is a text.
	_, p := ask(t, s, http.MethodGet, "/v1/offers?q=&limit=", ``, header)
	require.Len(t, p.Errors, 1)
	require.Equal(t, "query.limit", p.Errors[0].Location)
}

// Schemas have the fields that encoding/json writes. huma leaves a field of an embedded type out when the outer type has one of
// the same Go name, whatever their names in JSON are.
func TestSchemasHaveTheFieldsOfTheirTypes(t *testing.T) {
	schemas := (&Server{}).api(&routes{}).OpenAPI().Components.Schemas
	compared := 0
	for name, schema := range schemas.Map() {
		typ := schemas.TypeFromRef("#/components/schemas/" + name)
		require.NotNil(t, typ, name)
		if typ.Kind() == reflect.Pointer {
			typ = typ.Elem()
		}
		if typ.Kind() != reflect.Struct || schema.Type != huma.TypeObject {
			continue
		}
		has := slices.Sorted(maps.Keys(schema.Properties))
		require.Equal(t, slices.Compact(slices.Sorted(slices.Values(written(typ)))), has, name)
		compared++
	}
	require.Greater(t, compared, 50)
}

// written are the names under which the fields of a type are written, those of embedded types too.
func written(typ reflect.Type) (names []string) {
	for _, f := range reflect.VisibleFields(typ) {
		tag, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case len(f.Index) > 1, !f.IsExported(), tag == "-": // those of embedded types are found below, with shadowed ones
		case f.Anonymous && tag == "":
			names = append(names, written(f.Type)...)
		case tag == "":
			names = append(names, f.Name)
		default:
			names = append(names, tag)
		}
	}
	return names
}

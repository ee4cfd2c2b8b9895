package serve

import (
	"bytes"
	"encoding/json"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// null stands for the null of a request while it is compared with its schema. It is of no type that a schema can ask for:
// no field of a request may be null, and huma takes one that is for a field that is not given.
type null struct{}

// strictFormats are huma's, which take of requests what JSON Schema takes: no null, and 2.0 for an integer.
func strictFormats() map[string]huma.Format {
	formats := maps.Clone(huma.DefaultFormats)
	for name, f := range formats {
		f.Unmarshal = unmarshalStrict
		formats[name] = f
	}
	return formats
}

// unmarshalStrict decodes JSON. What it decodes for a comparison, into an any, has null{} for null.
func unmarshalStrict(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) && strings.HasPrefix(wrong.Value, "number") {
		err = unmarshalWhole(data, v)
	}
	if err != nil {
		return err
	}
	if compared, ok := v.(*any); ok {
		*compared = marked(*compared)
	}
	return nil
}

// unmarshalWhole decodes JSON, in which integers may be written with a point or an exponent.
func unmarshalWhole(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var parsed any
	if err := d.Decode(&parsed); err != nil {
		return err
	}
	rewritten, err := json.Marshal(integral(parsed))
	if err != nil {
		return err
	}
	return json.Unmarshal(rewritten, v)
}

// maxWhole is the largest integer up to which a float64 holds all of them.
const maxWhole = 1 << 53

// integral writes numbers without a fraction as integers.
func integral(v any) any {
	switch v := v.(type) {
	case json.Number:
		if f, err := v.Float64(); err == nil && f == math.Trunc(f) && math.Abs(f) <= maxWhole {
			return json.Number(strconv.FormatInt(int64(f), 10))
		}
	case []any:
		for i := range v {
			v[i] = integral(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = integral(v[k])
		}
	}
	return v
}

func marked(v any) any {
	switch v := v.(type) {
	case nil:
		return null{}
	case []any:
		for i := range v {
			v[i] = marked(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = marked(v[k])
		}
	}
	return v
}

// valued is huma's middleware that compares a query parameter that is given without a value, as in "?limit=", with its
// schema. huma takes it for one that is not given.
func valued(api huma.API) func(ctx huma.Context, next func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		u := ctx.URL()
		query := u.Query()
		var result huma.ValidateResult
		for _, p := range ctx.Operation().Parameters {
			if given := query[p.Name]; p.In == "query" && len(given) > 0 && given[0] == "" {
				path := huma.NewPathBuffer(nil, 0)
				path.Push("query")
				path.Push(p.Name)
				huma.Validate(api.OpenAPI().Components.Schemas, p.Schema, path, huma.ModeWriteToServer, "", &result)
			}
		}
		if len(result.Errors) > 0 {
			_ = huma.WriteErr(api, ctx, http.StatusUnprocessableEntity, "validation failed", result.Errors...) // a client that is gone does not read it
			return
		}
		next(ctx)
	}
}

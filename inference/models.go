package inference

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"
)

// visible are the deployments that a token may use.
func (s *Service) visible(t *Token) []DeploymentStatus {
	return slices.DeleteFunc(s.Deployments(), func(d DeploymentStatus) bool { return d.Deleting || !t.Admits(d.Name) })
}

// model is a deployment as a dialect has it.
func (d *dialect) model(s *DeploymentStatus) any {
	if d == &messages {
		return map[string]any{"type": "model", "id": s.Name, "display_name": s.Name, "created_at": time.Unix(s.Created, 0).UTC().Format(time.RFC3339)}
	}
	return map[string]any{"id": s.Name, "object": "model", "created": s.Created, "owned_by": "gantry"}
}

func (s *Service) models(w http.ResponseWriter, t *Token, d *dialect) {
	all := s.visible(t)
	list := make([]any, len(all))
	for i := range all {
		list[i] = d.model(&all[i])
	}
	if d == &messages {
		page := map[string]any{"data": list, "has_more": false, "first_id": nil, "last_id": nil}
		if len(all) > 0 {
			page["first_id"], page["last_id"] = all[0].Name, all[len(all)-1].Name
		}
		writeJSON(w, page)
		return
	}
	writeJSON(w, map[string]any{"object": "list", "data": list})
}

func (s *Service) model(w http.ResponseWriter, t *Token, id string, d *dialect) {
	all := s.visible(t)
	if i := slices.IndexFunc(all, func(m DeploymentStatus) bool { return m.Name == id }); i >= 0 {
		writeJSON(w, d.model(&all[i]))
		return
	}
	noModel(id).write(w, d)
}

func noModel(id string) *apiError {
	return &apiError{
		status: http.StatusNotFound, Message: fmt.Sprintf("there is no deployment %q that this token may use", id), Type: "invalid_request_error", Param: "model", Code: "model_not_found",
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that is gone does not read it
}

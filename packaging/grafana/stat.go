package grafana

import "maps"

// Stat is one figure as it is now: in large type, or on a gauge where Most is set.
type Stat struct {
	Title string
	Help  string
	Unit  string // as a panel's
	Line  Line
	Most  float64 // the end of the gauge
	Steps []Step  // colours, from small values to large ones; green without any
}

// Step gives values from From on a colour of Grafana's.
type Step struct {
	From   float64
	Colour string
}

// The colours of figures of which none, or little, is bad, and of those of which any is.
func low(bad, warn float64) []Step { return []Step{{0, "red"}, {bad, "orange"}, {warn, "green"}} }
func none() []Step                 { return []Step{{0, "green"}, {1, "red"}} }

// statHeight is in rows of Grafana's grid.
const statHeight = 4

// panel is the panel as Grafana imports it.
func (s Stat) panel(id, x, y, width int, source object) object {
	steps := []object{{"color": "green", "value": nil}}
	if len(s.Steps) > 0 {
		steps = nil
		for i, t := range s.Steps {
			from := any(t.From)
			if i == 0 { // everything below is of this colour too
				from = nil
			}
			steps = append(steps, object{"color": t.Colour, "value": from})
		}
	}
	defaults := object{"unit": s.Unit, "thresholds": object{"mode": "absolute", "steps": steps}}
	options := object{"reduceOptions": object{"values": false, "calcs": []string{"lastNotNull"}, "fields": ""}, "orientation": "auto"}
	kind := "stat"
	if s.Most > 0 {
		kind = "gauge"
		defaults["min"], defaults["max"] = 0, s.Most
		maps.Copy(options, object{"showThresholdLabels": false, "showThresholdMarkers": true, "sizing": "auto", "minVizWidth": 75, "minVizHeight": 75})
	} else {
		maps.Copy(options, object{
			"textMode": "auto", "colorMode": "value", "graphMode": "area", "justifyMode": "auto", "wideLayout": true, "showPercentChange": false,
			"percentChangeColorMode": "standard",
		})
	}
	return object{
		"id": id, "type": kind, "title": s.Title, "description": s.Help, "datasource": source,
		"targets":     []object{{"refId": "A", "expr": s.Line.Expr, "legendFormat": s.Line.Legend, "datasource": source}},
		"gridPos":     object{"x": x, "y": y, "w": width, "h": statHeight},
		"fieldConfig": object{"defaults": defaults, "overrides": []object{}}, "options": options,
	}
}

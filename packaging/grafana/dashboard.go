// Package grafana is the dashboards of the daemons. The JSON files beside it, which Grafana imports, are made from the tables
// in it: go generate ./packaging/grafana.
package grafana

import (
	"bytes"
	"encoding/json"
	"fmt"
)

//go:generate go run ./generate .

// Dashboard is what one daemon's operator looks at.
type Dashboard struct {
	Daemon string // such as agent
	Alive  string // the metric whose instances can be chosen
	Stats  []Stat // what counts now, above the charts
	Rows   []Row
}

// Row is panels about one subject, side by side.
type Row struct {
	Title  string
	Panels []Panel
}

// Panel is a chart. In its expressions $instance stands for the chosen instances.
type Panel struct {
	Title string
	Help  string
	Unit  string // Grafana's name of the unit; empty for a number
	Lines []Line
}

// Line is an expression of PromQL, and how its series are called.
type Line struct{ Expr, Legend string }

// Lines are all lines of a dashboard, by the titles of what they stand in.
func (d Dashboard) Lines() (all []Titled) {
	for _, s := range d.Stats {
		all = append(all, Titled{s.Title, s.Line})
	}
	for _, r := range d.Rows {
		for _, p := range r.Panels {
			for _, l := range p.Lines {
				all = append(all, Titled{p.Title, l})
			}
		}
	}
	return all
}

// Titled is a line, and the title of its panel.
type Titled struct {
	Title string
	Line
}

// All returns the dashboards.
func All() []Dashboard { return []Dashboard{agent(), keeper(), gateway(), server()} }

// File is the name of a dashboard's file.
func (d Dashboard) File() string { return d.Daemon + ".dashboard.json" }

// Grafana's grid has 24 columns.
const (
	columns = 24
	height  = 8
)

// schemaVersion is the one of Grafana 10; newer ones migrate dashboards when they import them.
const schemaVersion = 39

type object map[string]any

// JSON is the dashboard as Grafana imports it.
func (d Dashboard) JSON() ([]byte, error) {
	source := object{"type": "prometheus", "uid": "${source}"}
	var panels []object
	id, y := 0, 0
	for i, s := range d.Stats {
		id++
		width := columns / len(d.Stats)
		panels = append(panels, s.panel(id, i*width, 0, width, source))
		y = statHeight
	}
	for _, row := range d.Rows {
		id++
		panels = append(panels, object{"id": id, "type": "row", "title": row.Title, "collapsed": false, "panels": []object{}, "gridPos": object{"x": 0, "y": y, "w": columns, "h": 1}})
		y++
		width := columns / len(row.Panels)
		for i, p := range row.Panels {
			id++
			var targets []object
			for n, l := range p.Lines {
				targets = append(targets, object{"refId": string(rune('A' + n)), "expr": l.Expr, "legendFormat": l.Legend, "datasource": source})
			}
			panels = append(panels, object{
				"id": id, "type": "timeseries", "title": p.Title, "description": p.Help, "datasource": source, "targets": targets,
				"gridPos":     object{"x": i * width, "y": y, "w": width, "h": height},
				"fieldConfig": object{"defaults": object{"unit": p.Unit, "custom": object{"fillOpacity": 10, "showPoints": "never"}}, "overrides": []object{}},
				"options":     object{"legend": object{"displayMode": "list", "placement": "bottom", "showLegend": true, "calcs": []string{}}, "tooltip": object{"mode": "multi", "sort": "desc"}},
			})
		}
		y += height
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	err := enc.Encode(object{
		"uid": "gantry-" + d.Daemon, "title": "Gantry: " + d.Daemon, "tags": []string{"gantry"}, "schemaVersion": schemaVersion, "editable": true,
		"refresh": "30s", "time": object{"from": "now-6h", "to": "now"}, "timezone": "", "annotations": object{"list": []object{}}, "panels": panels,
		"templating": object{"list": []object{
			{"name": "source", "label": "Prometheus", "type": "datasource", "query": "prometheus"},
			{
				"name": "instance", "label": "Instance", "type": "query", "datasource": source, "multi": true, "includeAll": true, "refresh": 2, "sort": 1,
				"query": object{"query": fmt.Sprintf("label_values(%s, instance)", d.Alive), "refId": "instances"},
			},
		}},
	})
	return out.Bytes(), err
}

// Command gantry-testreader reads for tests what other people's software understands: QR codes, dashboards by Grafana's schemas, and
// queries of SQLite. The demo does not need it, and it takes a minute to compile.
//
// usage: gantry-testreader qr | dashboard | sqlite
//
// It reads standard input to its end and prints its answer.
package main

import "github.com/gantry-market/gantry/internal/testtool/program/tool"

func main() {
	tool.Main("gantry-testreader", "qr, dashboard or sqlite", map[string]tool.Part{"qr": qr, "dashboard": checkDashboard, "sqlite": sqlite})
}

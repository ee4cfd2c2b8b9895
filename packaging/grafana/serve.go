package grafana

// server is what a customer looks at whose programs rent by gantry serve.
func server() Dashboard {
	const on = `{instance=~"$instance"}`
	credits := func(part string) string {
		return `gantry_serve_credits_usdc{part="` + part + `",instance=~"$instance"}`
	}
	return Dashboard{Daemon: "serve", Alive: "gantry_serve_usdc_per_hour", Stats: []Stat{
		{Title: "GPUs that run", Line: Line{"gantry_serve_gpus" + on, "{{instance}}"}},
		{Title: "Cost an hour", Help: "USDC, of the leases that run now.", Line: Line{"gantry_serve_usdc_per_hour" + on, "{{instance}}"}},
		{Title: "Free credits", Help: "USDC that no order and no lease has reserved.", Line: Line{credits("free"), "{{instance}}"}, Steps: low(1, 10)},
		{
			Title: "Reserved credits", Help: "The share of the credits that orders and leases have reserved.", Unit: "percentunit", Most: 1,
			Line: Line{credits("reserved") + " / ignoring(part) (" + credits("reserved") + " + ignoring(part) " + credits("free") + ")", "{{instance}}"},
		},
		{Title: "Orders that wait", Help: "For machines.", Line: Line{"gantry_serve_open_orders" + on, "{{instance}}"}, Steps: []Step{{0, "green"}, {1, "orange"}}},
	}, Rows: []Row{
		{"Leases", []Panel{
			{"Leases", "By their status on chain.", "", []Line{{"gantry_serve_leases" + on, "{{instance}} {{status}}"}}},
			{"Cost an hour", "USDC.", "", []Line{{"gantry_serve_usdc_per_hour" + on, "{{instance}}"}}},
			{"Credits", "USDC.", "", []Line{{"gantry_serve_credits_usdc" + on, "{{instance}} {{part}}"}}},
			{"Purchases an hour", "By what they came to.", "", []Line{{"sum by (instance, result) (increase(gantry_serve_purchases_total" + on + "[1h]))", "{{instance}} {{result}}"}}},
		}},
		{"Requests", []Panel{
			{"Requests a minute", "By the status of their answers.", "", []Line{{"sum by (instance, status) (rate(gantry_serve_requests_total" + on + "[5m])) * 60", "{{instance}} {{status}}"}}},
			{"Requests a minute, by route", "The ten with the most.", "", []Line{{"topk(10, sum by (route) (rate(gantry_serve_requests_total" + on + "[5m])) * 60)", "{{route}}"}}},
			{"Time to an answer", "The slowest of twenty took at least this long. Streams last as long as their reader stays.", "s", []Line{
				{"histogram_quantile(0.95, sum by (route, le) (rate(gantry_serve_request_seconds_bucket" + on + "[5m])))", "{{route}}"},
			}},
			{"Notices an hour", "For people, by what became of them.", "", []Line{{"sum by (instance, outcome) (increase(gantry_serve_notices_total" + on + "[1h]))", "{{instance}} {{outcome}}"}}},
		}},
	}}
}

package grafana

// gateway is what the operator of a gateway looks at.
func gateway() Dashboard {
	const on = `{instance=~"$instance"}`
	return Dashboard{Daemon: "gateway", Alive: "gantry_gateway_leases", Stats: []Stat{
		{Title: "Leases", Line: Line{"sum(gantry_gateway_leases" + on + ")", "granted"}},
		{Title: "Sessions with containers", Line: Line{"sum(gantry_gateway_sessions" + on + ")", "open"}},
		{Title: "Next certificate expires in", Help: "0: expired, or no certificate", Unit: "s", Line: Line{"min(clamp_min(gantry_gateway_certificate_expiry_timestamp_seconds" + on + " - time(), 0))", "the next"}, Steps: low(2*24*3600, 7*24*3600)},
		{Title: "Names without a certificate", Line: Line{"sum(gantry_gateway_certificates_missing" + on + ")", "missing"}, Steps: none()},
	}, Rows: []Row{
		{"Customers", []Panel{
			{"Leases", "That are granted.", "", []Line{{"gantry_gateway_leases" + on, "{{instance}}"}}},
			{"Sessions with containers", "", "", []Line{{"gantry_gateway_sessions" + on, "{{instance}}"}}},
			{"Traffic", "Both ways of all leases.", "Bps", []Line{{"sum by (instance, way) (rate(gantry_gateway_relayed_bytes_total" + on + "[5m]))", "{{instance}} {{way}} containers"}}},
			{"Traffic of the ten largest leases", "", "Bps", []Line{{"topk(10, sum by (lease) (rate(gantry_gateway_relayed_bytes_total" + on + "[5m])))", "{{lease}}"}}},
		}},
		{"Internet", []Panel{
			{"Open connections", "", "", []Line{{"gantry_gateway_tls_connections" + on, "{{instance}} TLS"}, {"gantry_gateway_ssh_connections" + on, "{{instance}} SSH"}}},
			{"Events a minute", "What became of connections and requests.", "", []Line{{"sum by (side, event) (rate(gantry_gateway_events_total" + on + "[5m])) * 60", "{{side}} {{event}}"}}},
			{"Strangers", "Peers of the market's network that no grant concerns.", "", []Line{{"gantry_gateway_strangers" + on, "{{instance}}"}}},
		}},
		{"Certificates", []Panel{
			{"Next certificate expires in", "0: expired, or no certificate", "s", []Line{{"clamp_min(gantry_gateway_certificate_expiry_timestamp_seconds" + on + " - time(), 0)", "{{instance}}"}}},
			{"Names without a certificate", "", "", []Line{{"gantry_gateway_certificates_missing" + on, "{{instance}}"}}},
		}},
	}}
}

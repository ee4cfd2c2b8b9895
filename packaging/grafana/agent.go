package grafana

// agent is what the owner of machines looks at.
func agent() Dashboard {
	const on = `{instance=~"$instance"}`
	gpu := func(title, help, unit string, metrics ...string) Panel {
		p := Panel{Title: title, Help: help, Unit: unit}
		for _, m := range metrics {
			p.Lines = append(p.Lines, Line{"DCGM_FI_DEV_" + m + on, "{{instance}} GPU {{gpu}}"})
		}
		return p
	}
	return Dashboard{Daemon: "agent", Alive: "gantry_agent_chain_slot", Stats: []Stat{
		{Title: "Machines in the market", Line: Line{`count(gantry_agent_node_status{status="active",instance=~"$instance"} == 1)`, "active"}},
		{Title: "Leases that run", Line: Line{`sum(gantry_agent_leases{state="running",instance=~"$instance"})`, "running"}},
		{Title: "Keepers connected", Help: "Of the machine that has the fewest.", Line: Line{"min(gantry_agent_keepers_connected" + on + ")", "the fewest"}, Steps: low(1, 2)},
		{Title: "Share of its class", Help: "Of the machine that was measured slowest.", Unit: "percentunit", Most: 1, Line: Line{"min(gantry_agent_class_share_ratio" + on + ")", "the slowest"}, Steps: low(0.5, 0.7)},
		{Title: "Faults", Help: "Of the hardware, and on chain.", Line: Line{"sum(gantry_agent_hardware_faults" + on + ") + sum(gantry_agent_pending_faults" + on + ")", "faults"}, Steps: none()},
	}, Rows: []Row{
		{"Market", []Panel{
			{"Status of the node", "1 for the status that the node has on chain.", "", []Line{{"gantry_agent_node_status" + on + " == 1", "{{instance}} {{status}}"}}},
			{"Takes new leases", "1 while it does; otherwise why not: outside of the hours, in use by its owner, below its class, a fault, or its status on chain.", "", []Line{
				{"gantry_agent_offering" + on, "{{instance}} offering"}, {"gantry_agent_not_offering" + on + " == 1", "{{instance}} not: {{reason}}"},
			}},
			{"Leases", "By state. A node earns while leases run.", "", []Line{{"sum by (instance, state) (gantry_agent_leases" + on + ")", "{{instance}} {{state}}"}}},
			{"Faults", "Faults of the hardware that stand, GPUs that are missing, and faults on chain that hold stake.", "", []Line{
				{"gantry_agent_hardware_faults" + on, "{{instance}} hardware"},
				{"gantry_agent_gpu_missing" + on + " == 1", "{{instance}} GPU {{gpu}} missing"},
				{"gantry_agent_pending_faults" + on, "{{instance}} pending on chain"},
			}},
		}},
		{"Keepers", []Panel{
			{"Connected", "Keepers that the agent is connected to, and all. With none the node is soon voted away.", "", []Line{
				{"gantry_agent_keepers_connected" + on, "{{instance}}"}, {"max(gantry_agent_keepers" + on + ")", "all"},
			}},
			{"Since the last question", "Beyond a quarter of an hour the market does not reach the node.", "s", []Line{{"gantry_agent_question_age_seconds" + on, "{{instance}}"}}},
			{"Questions a minute", "By kind, and whether they were answered.", "", []Line{
				{"sum by (kind, answered) (rate(gantry_agent_questions_total" + on + "[5m])) * 60", "{{kind}} answered: {{answered}}"},
			}},
			{"Measurements an hour", "By why they ended: over is the good end.", "", []Line{
				{"sum by (why) (rate(gantry_agent_measurements_ended_total" + on + "[1h])) * 3600", "{{why}}"},
			}},
			{"Share of its class", "What keepers measured last, of what the class asks for; orders want a mean of 0.7.", "", []Line{{"gantry_agent_class_share_ratio" + on, "{{instance}}"}}},
			{"Last measurement", "How long it took until it was signed.", "s", []Line{{"gantry_agent_measurement_seconds" + on, "{{instance}}"}}},
		}},
		{"GPUs", []Panel{
			gpu("Temperature", "", "celsius", "GPU_TEMP"), gpu("Power", "", "watt", "POWER_USAGE"),
			gpu("Use", "", "percent", "GPU_UTIL"), gpu("Memory in use", "", "decmbytes", "FB_USED"),
		}},
		{"Health of GPUs", []Panel{
			gpu("Uncorrected errors of memory", "Any is a reason to look at the card.", "", "ECC_DBE_VOL_TOTAL"),
			gpu("Corrected errors of memory", "", "", "ECC_SBE_VOL_TOTAL"),
			gpu("Failed row remappings", "Any means that the card should be replaced.", "", "ROW_REMAP_FAILURE"),
			gpu("Fans", "", "percent", "FAN_SPEED"),
		}},
		{"Machine", []Panel{
			{"Free disk", "", "bytes", []Line{{"gantry_agent_disk_free_bytes" + on, "{{instance}}"}}},
			{"Images", "Bytes of images that are kept.", "bytes", []Line{{"gantry_agent_image_bytes" + on, "{{instance}}"}}},
			{"Clock", "How far the clock is off, beyond what the chain's can tell.", "s", []Line{{"gantry_agent_clock_off_seconds" + on, "{{instance}}"}}},
			{"Slots a second", "Of the chain, as the agent sees them. Zero means that its RPC endpoints do not answer.", "", []Line{{"rate(gantry_agent_chain_slot" + on + "[2m])", "{{instance}}"}}},
		}},
	}}
}

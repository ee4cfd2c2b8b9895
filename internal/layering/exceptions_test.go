package layering

// exceptions are what breaks a rule and may, with the reason. One that is not needed any more fails the test.
var exceptions = map[string]string{
	"agent/runtime imports client/template":  "a test of both ends: an agent runs what customers' templates render",
	"gateway/daemon imports client/cli":      "a test of both ends: a gateway is paid by the customer's command",
	"keeper/evidence imports agent/evidence": "a test of both ends: a keeper judges the bundle that the agent's collector makes",
	"keeper/line imports agent/line":         "a test of both ends: a keeper measures the line of an agent",
	"keeper/measure imports agent/measure":   "a test of both ends: a keeper measures what the agent runs",
}
